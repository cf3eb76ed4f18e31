Feature: A message stays invisible while its job works

  Scenario: an extension that the queue swallows costs nothing
    Given the message M1
    And 2 instances of the worker run
    And the visibility timeout is 3
    And the worker is held at processing of M1 once
    And the queue swallows everything
      | only  | ChangeMessageVisibility |
      | until | 1 call                  |
    When M1 is submitted
    And the visibility of M1 has been extended 2 times
    And the held worker goes on
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was received 1 time

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

  Scenario: a failed attempt is followed by the pause that was configured
    Given the message M1
    And M1 is malformed
    And the attempt limit is 1
    And the retry backoff is 1s
    When M1 is submitted
    Then the totals are
      | attempts started            | 1 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
    And the pause of a second of M1 is "true"
