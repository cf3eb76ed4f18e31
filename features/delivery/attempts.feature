Feature: A failed attempt is not a failed job

  A worker may crash at any point, a message may be delivered twice, a document may be malformed or
  just out of reach. The result is committed at most once, and a receipt goes only after that.

  Scenario: a row without a result means a second attempt, not a duplicate (K1)
    Given the message M1
    And 2 instances of the worker run
    And the visibility timeout is 2
    And the worker is killed at attempt-recorded of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started | 2 |
      | completed        | 1 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was received 2 times

  Scenario Outline: a worker that dies at <stage> has not finished the job
    Given the message M1
    And the worker is killed at <stage> of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started | <started> |
      | completed        | 1         |
      | quarantined      | 0         |
      | left in queue    | 0         |
      | outside requests | 1         |
    And M1 ended as completed
    And M1 passed committed 1 time
    And M1 was received <receives> times
    And the worker was killed 1 time

    Examples:
      | stage            | started | receives |
      | received         | 1       | 2        |
      | attempt-recorded | 2       | 2        |
      | started          | 2       | 2        |
      | read             | 2       | 2        |
      | processing       | 2       | 2        |
      | outside-answered | 2       | 2        |
      | finishing        | 2       | 2        |
      | committing       | 2       | 2        |
      | committed        | 1       | 2        |
      | deleted          | 1       | 1        |

  Scenario: the client reads the result before the message is deleted
    Given the message M1
    And the worker is held at committed of M1 once
    When M1 is submitted
    And M1 has passed committed
    Then the client state of M1 is still "succeeded"
    And M1 has not passed deleted yet
    When the worker is killed
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was received 2 times
    And M1 passed stepped-back 1 time

  Scenario: the COMMIT arrived and its answer did not, or it never arrived (K8)
    Given the messages M1 and M2
    And the visibility timeout is 2
    And the worker loses the reply at committed of M1 once
    And the worker loses its request at committed of M2 once
    When all messages are submitted
    Then the totals are
      | attempts started | 2 |
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |
    And M1 and M2 passed committed 1 time
    And M1 and M2 were received 1 time
    And M1 passed committing 1 time
    And M2 passed committing 2 times
    And the worker was started 1 time

  Scenario: a message that is delivered twice is worked on once
    Given the message M1
    And 2 instances of the worker run
    And the visibility of M1 ends at processing once
    And the worker is held at processing of M1 until M1 has passed stepped-back
    When M1 is submitted
    And M1 has passed deleted
    And the visibility of M1 ends
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 passed committed 1 time
    And M1 was received 3 times

  Scenario: a duplicate of a finished job is recognised and deleted
    Given the messages M1 to M5
    And the publisher is heard twice at accepted of each message once
    When all messages are submitted
    Then the totals are
      | attempts started | 5 |
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |
      | dead letters     | 0 |
    And M1 to M5 were sent 2 times
    And M1 to M5 were received 2 times

  Scenario: of two workers that race, one commits
    Given the message M1
    And 2 instances of the worker run
    And the lease is 1s
    And the visibility timeout is 1
    And the worker gets SIGSTOP at outside-answered of M1 once
    When M1 is submitted
    And M1 has passed committed
    And the worker goes on
    Then the totals are
      | attempts started | 2 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 passed committed 1 time

  Scenario: a temporary read failure clears, a malformed document fails every time
    Given the messages M1 and M2
    And M2 is malformed
    And the worker is refused with 503 at read of M1 once
    When all messages are submitted
    Then the totals are
      | attempts started            | 5 |
      | completed                   | 1 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 1 |
    And M1 has 2 attempts started
    And M2 has 3 attempts started
    And M1 ended as completed
    And M2 ended as quarantined

  Scenario: a deletion that is refused is tried by the next receive
    Given the message M1
    And the worker is refused with InternalError at deleted of M1 the first 3 times
    And the visibility of M1 ends at deleted the first 3 times
    When M1 is submitted
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was received 4 times

  Scenario: a receive whose answer is lost costs no attempt
    Given the message M1
    And the worker loses the reply at received of M1 the first 2 times
    When M1 is submitted
    Then the totals are
      | attempts started | 1 |
      | attempts counted | 0 |
      | completed        | 1 |
      | left in queue    | 0 |
    And M1 was received 3 times

  Scenario: visibility is extended while the job works, and not afterwards
    Given the message M1
    And the visibility timeout is 3
    And the worker is held at processing of M1 once
    When M1 is submitted
    And the visibility of M1 has been extended 2 times
    And the held worker goes on
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
    And M1 was received 1 time
    And no receipt was touched after it was deleted or released

  Scenario: an attempt that takes too long is timed out, and the next may succeed
    Given the message M1
    And the job deadline is 1s
    And the worker is held at processing of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And no receipt was touched after it was deleted or released

  Scenario: a job that is timed out each time ends in quarantine as such
    Given the message M1
    And the job deadline is 1s
    And the attempt limit is 2
    And the worker is held at processing of M1 every time
    When M1 is submitted
    Then M1 passes quarantined within 12s
    And the totals are
      | attempts started        | 2 |
      | completed               | 0 |
      | quarantined (timed out) | 1 |
      | left in queue           | 0 |
      | outside requests        | 0 |
    And the client label of M1 is "timed out"
