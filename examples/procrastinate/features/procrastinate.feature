Feature: procrastinate

  Scenario: five jobs
    Given the messages M1 to M5
    When all messages are submitted
    Then the totals are
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |

  Scenario: a worker dies as soon as a job is finished
    Given the messages M1 to M5
    And the worker is killed at finished of M2 once
    When all messages are submitted
    Then the totals are
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |
