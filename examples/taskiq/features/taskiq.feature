Feature: taskiq with a stream of Redis

  Scenario: five jobs
    Given the messages M1 to M5
    When all messages are submitted
    Then the totals are
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |

  Scenario: a worker dies with a job in hand
    Given the messages M1 to M3
    And the worker is killed before "POST /charges" of M1 once
    When all messages are submitted
    Then the totals are
      | completed        | 3 |
      | left in queue    | 0 |
      | outside requests | 3 |
    And M1 was received 2 times
