Feature: A message stays invisible while its job works

  Scenario: a job that takes longer than the visibility timeout is received once
    Given the messages M1 and M2
    And 3 instances of the worker run
    And the visibility timeout is 2
    And the worker is delayed by 2500ms at read of M2 once
    And M1 waits at processing until M2 has passed committed
    When all messages are submitted
    Then the totals are
      | attempts started | 2 |
      | completed        | 2 |
      | left in queue    | 0 |
    And M1 and M2 were received 1 time

  Scenario: an extension that the queue swallows costs nothing
    Given the messages M1 and M2
    And 3 instances of the worker run
    And the visibility timeout is 3
    And the worker is delayed by 3500ms at read of M2 once
    And M1 waits at processing until M2 has passed committed
    And the queue swallows everything
      | only  | ChangeMessageVisibility |
      | for   | M1                      |
      | until | 1 call                  |
    When all messages are submitted
    Then the totals are
      | attempts started | 2 |
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |
    And M1 and M2 were received 1 time

  Scenario: nobody extends what was deleted
    Given the messages M1 and M2
    And the visibility timeout is 1
    And 2 instances of the worker run
    And the worker is held at processing of M2 once
    When M2 is submitted
    And M2 has passed processing
    And M1 is submitted
    And M1 has passed deleted
    And the visibility of M2 has been extended 4 times
    And the held worker goes on
    Then the totals are
      | completed     | 2 |
      | left in queue | 0 |
    And no receipt was touched after it was deleted or released

  Scenario: a failed attempt is followed by the pause that was configured, and by no extension
    Given the message M1
    And M1 is malformed
    And the attempt limit is 1
    And the retry backoff is 4s
    And the visibility timeout is 6
    And the job deadline is 5s
    And the outside timeout is 500ms
    When M1 is submitted
    Then the totals are
      | attempts started            | 1 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
    And the pause of a second of M1 is "true"
    And M1 passed released 1 time
