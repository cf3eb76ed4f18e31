Feature: The hand-over to quarantine

  The record is durable before the message is deleted, there is one record whatever happens, and
  where quarantine cannot take more, consumption stops and nothing is lost.

  Background:
    Given the messages M1 to M5
    And M2 is malformed

  Scenario: quarantine refuses writes while attempts can be recorded
    Given consumption is expected to stop
    And the database answers "53100"
      | only | insert into quarantine |
    When all messages are submitted
    Then the totals are
      | quarantined               | 0 |
      | completed + left in queue | 5 |
      | dead letters              | 0 |
    And consumption is "stopped"
    And stopped was passed with "quarantine refuses writes"
    And M2 never passed deleted

  Scenario: the worker dies just after the record is durable
    Given the worker is killed at quarantined of M2 once
    When all messages are submitted
    Then the totals are
      | quarantined (attempt limit) | 1 |
      | quarantined                 | 1 |
      | completed                   | 4 |
      | left in queue               | 0 |
    And M2 has 3 attempts started
    And quarantined was passed 1 time

  Scenario: the deletion fails three times after the record is durable
    Given the visibility timeout is 1
    And the worker is refused with InternalError at deleted of M2 the first 3 times
    When all messages are submitted
    Then the totals are
      | quarantined (attempt limit) | 1 |
      | quarantined                 | 1 |
      | completed                   | 4 |
      | left in queue               | 0 |
    And M2 has 3 attempts started
    And quarantined was passed 1 time

  Scenario: a full quarantine stops consumption until an operator settled something
    Given M4 is malformed
    And the quarantine capacity is 1
    And consumption is expected to stop
    When all messages are submitted
    Then the totals are
      | quarantined               | 1 |
      | completed + left in queue | 4 |
      | dead letters              | 0 |
    And consumption is "stopped"
    And stopped was passed with "quarantine full"
    When the operator runs resolve "done" for M2
    And the operator runs resume
    Then the totals are
      | quarantined (attempt limit) | 2 |
      | completed                   | 3 |
      | left in queue               | 0 |
    And M2 and M4 ended as quarantined
    And the worker was started 1 time
    And consumption is "normal"
