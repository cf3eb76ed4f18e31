Feature: what procrastinate does not promise

  # Nothing takes up the jobs of dead workers unless the application has a task that does:
  # https://procrastinate.readthedocs.io/en/stable/howto/production/retry_stalled_jobs.html
  Scenario: a worker dies with a job in hand
    Given the messages M1 to M3
    And the worker is killed before "POST /charges" of M2 once
    When all messages are submitted
    Then the totals are
      | completed | 3 |
