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
