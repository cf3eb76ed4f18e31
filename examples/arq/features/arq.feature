Feature: arq

  Scenario: five jobs
    Given the messages M1 to M5
    When all messages are submitted
    Then the totals are
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |

  Scenario: a worker dies with a job in hand, and the job runs again
    Given the messages M1 to M5
    And the worker is killed before "POST /charges" of M2 once
    When all messages are submitted
    Then the totals are
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |
    And M2 was received 2 times
