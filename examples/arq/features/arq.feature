Feature: arq

  Scenario: five jobs
    Given the messages M1 to M5
    When all messages are submitted
    Then the totals are
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |

  # With more jobs in hand arq repeats what it had not finished, writes included: at least once.
  Scenario: a worker dies with a job in hand, and the job runs again
    Given the message M1
    And the worker is killed before "POST /charges" of M1 once
    When M1 is submitted
    Then the totals are
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was received 2 times
