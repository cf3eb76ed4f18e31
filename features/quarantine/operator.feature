Feature: A person decides what happens to a quarantined message

  Quarantine is neither deletion nor automatic replay. Its content can be read, and
  nothing leaves it unless somebody says so.

  Background:
    Given the messages M1 to M3
    And the worker is killed at processing of M2 the first 3 times

  Scenario: a quarantined message is readable and is not replayed by itself
    When all messages are submitted
    Then M2 ended as quarantined
    And the stored content of M2 is exactly its content
    And the stored body of M2 is exactly what the queue delivered
    And the label of M2 is "attempt limit"
    When the worker is restarted
    And the publisher is restarted
    Then the totals are
      | attempts started            | 5 |
      | completed                   | 2 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
    And M2 was received 4 times

  Scenario: a replay needs a recorded cause, starts a fresh count and keeps the history
    When all messages are submitted
    Then M2 ended as quarantined
    And the operator may not run replay for M2
    And the operator is told "cause"
    When the operator runs cause "the worker was killed by hand" for M2
    And the operator runs replay for M2
    Then M2 ended as completed
    And the totals are
      | attempts started | 6 |
      | completed        | 3 |
      | left in queue    | 0 |
      | outside requests | 3 |
    And the state of M2 is "succeeded"
    And M2 has 4 attempts started
    And the records of M2 is 1
    And the cause on record of M2 is "the worker was killed by hand"
    And the operator may not run replay for M2

  Scenario: an unknown outcome is replayed only after a person found that it was not done
    Given the worker is killed at outside-intended of M3 the first time
    When all messages are submitted
    Then the label of M3 is "outcome unknown"
    When the operator runs cause "the worker was killed by hand" for M3
    Then the operator may not run replay for M3
    When the operator runs looked "the service's own log" for M3
    Then the checked on record of M3 is "the service's own log"
    When the operator runs replay for M3
    Then M3 ended as completed
    And M3 has 1 outside requests

  Scenario: an unknown outcome that was done is completed without another write
    Given the worker is killed at outside-sent of M3 the first time
    When all messages are submitted
    Then the label of M3 is "outcome unknown"
    When the operator runs resolve "done" for M3
    Then the state of M3 is "succeeded"
    And M3 has 1 outside requests
    And the client text of M3 is exactly its content
    And M3 was sent 1 time
    When the operator runs cause "the worker was killed by hand" for M3
    Then the operator may not run replay for M3
    And the operator is told "nothing is left to replay"

  Scenario: the status tells what is in hand, in quarantine and open
    When all messages are submitted
    Then M2 ended as quarantined
    When the operator runs status
    Then the operator is told '"mode": "normal"'
    And the operator is told '"workers": 1'
    And the operator is told '"in_hand": 0'
    And the operator is told '"in_quarantine": 1'
    And the operator is told '"pending": 0'
    When the operator runs resolve "done" for M2
    And the operator runs status
    Then the operator is told '"in_quarantine": 0'
