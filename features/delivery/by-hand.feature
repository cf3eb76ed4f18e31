Feature: What people do to queues, and processes that fare badly by themselves

  Scenario: a copy of a finished message is no second job
    Given the messages M1 and M2
    When all messages are submitted
    And everything is quiet
    And a copy of M1 is put on the queue jobs
    Then the totals are
      | attempts started | 2 |
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |
    And M1 was sent 2 times
    And M1 was received at least 2 times

  Scenario: a dead letter that is redriven is done like a new message
    Given the messages M1 and M2
    And the max receives is 1
    And the worker loses the reply at received of M1 once
    When all messages are submitted
    Then the totals are
      | completed    | 1 |
      | dead letters | 1 |
    When the queue jobs-dead is redriven to its source
    Then the totals are
      | attempts started | 2 |
      | completed        | 2 |
      | dead letters     | 0 |
      | left in queue    | 0 |
      | outside requests | 2 |
    And M1 was sent 2 times

  Scenario: one copy of a message whose owner lives is looked at again
    Given the message M1
    And 2 instances of the worker run
    And the visibility timeout is 2
    And the worker is held at processing of M1 once
    When M1 is submitted
    And M1 has passed processing
    And a copy of M1 is put on the queue jobs
    And M1 has passed stepped-back
    And the visibility of copy 2 of M1 ends
    And M1 has passed stepped-back 2 times
    And the held worker goes on
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |

  Scenario: a worker that stands still for good holds nothing up
    Given the messages M1 and M2
    And 2 instances of the worker run
    And the lease is 1s
    And the visibility timeout is 2
    And the worker gets SIGSTOP at processing of M1 once
    When M1 is submitted
    And M1 has passed processing
    And the worker holding M1 stands still for good
    And M2 is submitted
    Then M1 and M2 pass committed within 12s
    And the totals are
      | attempts started | 3 |
      | attempts counted | 1 |
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |

  Scenario: a failed attempt of the one worker with a pause waits for it
    Given the message M1
    And M1 is malformed
    And the attempt limit is 2
    And the retry backoff of the worker-1 is 1s
    When M1 is submitted
    Then M1 passed received not before 900ms after released
    And M1 passed received within 20s of released
    And M1 passed released 1 to 2 times

  Scenario: each pause between attempts is twice as long as the one before
    Given the message M1
    And M1 is malformed
    And the attempt limit is 3
    And the retry backoff is 1s
    When M1 is submitted
    Then M1 passed quarantined not before 1900ms after released

  Scenario: a reconciler that cannot start harms nobody
    Given the message M1
    And the variable LEASE of the reconciler is "never"
    And the reconciler is expected to die
    When the reconciler is started
    And M1 is submitted
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
    And the reconciler died at least 5 times by itself
