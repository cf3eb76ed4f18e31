Feature: Deaths that nobody ordered with a signal to kill

  A worker aborts in a side task or for want of memory, a job never returns, or a heartbeat starves.
  Each is counted as what it is.

  Scenario: a worker aborts while one message is in hand
    Given the messages M1 to M5
    And the worker gets SIGABRT at processing of M3 every time
    When all messages are submitted
    Then the totals are
      | attempts started            | 7 |
      | attempts counted            | 3 |
      | completed                   | 4 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 4 |

  Scenario: a document needs more memory than a worker may use
    Given the messages M1 to M5
    And M3 is explosive
    When all messages are submitted
    Then the totals are
      | attempts started            | 7 |
      | attempts counted            | 3 |
      | completed                   | 4 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 4 |
    And M3 was received 4 times

  Scenario: a job never returns
    Given the messages M1 to M5
    And the job deadline is 1s
    And the worker is held at processing of M3 every time
    When all messages are submitted
    Then the totals are
      | attempts started        | 7 |
      | attempts counted        | 3 |
      | completed               | 4 |
      | quarantined (timed out) | 1 |
      | left in queue           | 0 |
      | outside requests        | 4 |

  Scenario: a heartbeat starves while its worker works
    Given the messages M1 to M4
    And 2 instances of the worker run
    And the lease is 1s
    And the visibility timeout is 3
    And the worker is delayed by 1500ms at read of M1 once
    And the database hangs
      | of    | who passes it                     |
      | only  | update incarnations i set beat_at |
      | from  | started of M1                     |
      | until | 2s                                |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 4 |
      | completed        | 4 |
