Feature: The dead-letter queue proves nothing

  The redrive policy counts receives, not failures. What became of a job stands in the database: the
  reconciler looks there before it calls anything failed, and only when nobody can commit any more.

  Scenario: finished work in the dead-letter queue (K16)
    Given the messages M1 to M3
    And the max receives is 4
    And the worker is refused with InternalError at deleted of any message every time
    And the visibility of each message ends at deleted every time
    When all messages are submitted
    Then the totals are
      | completed        | 3 |
      | dead letters     | 3 |
      | left in queue    | 0 |
      | attempts started | 3 |
    And M1 to M3 were received 4 times
    When all faults are over
    And the operator runs reconcile
    Then the operator is told '"failed": 0'
    And the totals are
      | attempts started | 3 |
      | completed        | 3 |
      | failed           | 0 |
      | dead letters     | 0 |
      | left in queue    | 0 |
      | outside requests | 3 |
    And the client state of M1 is "succeeded"

  Scenario: a job is pending until it is reconciled, and then the truth is told with its errors
    Given the messages M1 and M2
    And M1 is malformed
    And the max receives is 2
    When all messages are submitted
    Then the totals are
      | attempts started | 3 |
      | completed        | 1 |
      | failed           | 0 |
      | dead letters     | 1 |
      | left in queue    | 0 |
    And the client state of M1 is "pending"
    When the operator runs reconcile
    Then the totals are
      | attempts started | 3 |
      | completed        | 1 |
      | failed           | 1 |
      | dead letters     | 0 |
    And the client state of M1 is "failed"
    And the client state of M2 is "succeeded"
    And M1 ended as failed
    And the given-up attempts of M1 is 2
    And the given-up receives of M1 is 2
    And the preflight warned "maxReceiveCount is 2"
    And the worker logged "maxReceiveCount is 2"

  Scenario: a message that was never attempted is told apart
    Given the message M1
    And the max receives is 2
    And the worker loses the reply at received of M1 every time
    When M1 is submitted
    Then the totals are
      | attempts started | 0 |
      | dead letters     | 1 |
    When the operator runs reconcile
    Then the totals are
      | attempts started | 0 |
      | failed           | 1 |
      | dead letters     | 0 |
    And the client error of M1 is "never attempted"

  Scenario: the reconciler runs as a process
    Given the message M1
    And M1 is malformed
    And the max receives is 2
    When M1 is submitted
    Then the totals are
      | dead letters | 1 |
      | failed       | 0 |
    When the reconciler is started
    Then the totals are
      | failed       | 1 |
      | dead letters | 0 |
    When the reconciler is stopped
    Then the reconciler exited with code 0

  Scenario Outline: the reconciler dies at <stage>
    Given the message M1
    And M1 is malformed
    And the max receives is 2
    And the reconciler is killed at <stage> of M1 once
    When M1 is submitted
    Then the totals are
      | dead letters | 1 |
    When the reconciler is started
    Then the totals are
      | failed       | 1 |
      | dead letters | 0 |
      | completed    | 0 |
    And M1 passed given-up 1 time

    Examples:
      | stage      |
      | found-dead |
      | given-up   |
      | reconciled |

  Scenario: while an attempt can still commit, the reconciler waits
    Given the message M1
    And 2 instances of the worker run
    And the max receives is 1
    And the worker is held at processing of M1 once
    When M1 is submitted
    And M1 has passed processing
    And the visibility of M1 ends
    And the reconciler is started
    Then M1 passes received-dead 2 times within 10s
    And M1 has not passed given-up yet
    And the client state of M1 is still "pending"
    When the held worker goes on
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | failed           | 0 |
      | dead letters     | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And the client state of M1 is "succeeded"

  Scenario: the owner wakes while the reconciler calls the job failed (K11)
    Given the message M1
    And 2 instances of the worker run
    And the max receives is 1
    And the lease is 1s
    And the worker gets SIGSTOP at read of M1 once
    And the reconciler gets SIGSTOP at found-dead of M1 once
    When M1 is submitted
    And M1 has passed read
    And the visibility of M1 ends
    And the reconciler is started
    And M1 has passed found-dead
    And the worker goes on
    And the reconciler goes on
    Then the totals are
      | completed        | 0 |
      | failed           | 1 |
      | dead letters     | 0 |
      | left in queue    | 0 |
      | outside requests | 0 |
    And the client state of M1 is "failed"

  Scenario: the owner is about to commit while the reconciler calls the job failed (K11)
    Given the message M1
    And 2 instances of the worker run
    And the max receives is 1
    And the lease is 1s
    And the worker gets SIGSTOP at outside-answered of M1 once
    And the reconciler gets SIGSTOP at found-dead of M1 once
    When M1 is submitted
    And M1 has passed outside-answered
    And the visibility of M1 ends
    And the reconciler is started
    And M1 has passed found-dead
    And the worker goes on
    And M1 has passed finishing
    And the reconciler goes on
    Then the totals are
      | completed        | 0 |
      | failed           | 1 |
      | dead letters     | 0 |
      | outside requests | 1 |
    And M1 never passed committed
    And M1 ended as failed

  Scenario: the owner commits before the reconciler looks (K11)
    Given the message M1
    And 2 instances of the worker run
    And the max receives is 1
    And the lease is 1s
    And the worker gets SIGSTOP at outside-answered of M1 once
    When M1 is submitted
    And M1 has passed outside-answered
    And the visibility of M1 ends
    And the worker goes on
    And M1 has passed committed
    And the reconciler is started
    Then the totals are
      | completed        | 1 |
      | failed           | 0 |
      | dead letters     | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 ended as completed

  Scenario: the reconciler was first; the owner wakes later (K11)
    Given the message M1
    And 2 instances of the worker run
    And the max receives is 1
    And the lease is 1s
    And the worker gets SIGSTOP at outside-answered of M1 once
    When M1 is submitted
    And M1 has passed outside-answered
    And the visibility of M1 ends
    And the reconciler is started
    And M1 has passed reconciled
    Then the client state of M1 is still "failed"
    When the worker goes on
    Then the totals are
      | completed        | 0 |
      | failed           | 1 |
      | dead letters     | 0 |
      | outside requests | 1 |
    And M1 never passed committed

  Scenario Outline: an intent without an answer is an unknown outcome, never a failure (K11)
    Given the message M1
    And 2 instances of the worker run
    And the max receives is 1
    And the lease is 1s
    And the worker gets SIGSTOP at <stage> of M1 once
    When M1 is submitted
    And M1 has passed <stage>
    And the visibility of M1 ends
    And the reconciler is started
    And M1 has passed reconciled
    And the worker goes on
    Then the totals are
      | completed                     | 0          |
      | failed                        | 0          |
      | quarantined (outcome unknown) | 1          |
      | dead letters                  | 0          |
      | outside requests              | <requests> |
    And M1 ended as quarantined

    Examples:
      | stage            | requests |
      | outside-intended | 1        |
      | outside-sent     | 1        |
