Feature: The brake on quarantine

  When a large share of recent messages ends in quarantine, that is no poison. Quarantine stops, and so
  does consumption: the rest stays where it is, also across restarts.

  # A restart is to change nothing: that is its point.
  @always
  Scenario: everything fails
    Given the messages M1 to M100
    And M1 to M100 are malformed
    And the quarantine share is 20
    And consumption is expected to stop
    When all messages are submitted
    Then the totals are
      | quarantined (attempt limit)  | at most 11 |
      | quarantined + left in queue  | 100        |
      | dead letters                 | 0          |
      | outside requests             | 0          |
    And consumption is "stopped"
    And stopped was passed with "too large a share quarantined"
    When the worker is killed
    And everything is quiet
    And the worker is killed
    Then nothing more happens over 20 calls of the worker
    And the totals are
      | quarantined (attempt limit)  | at most 11 |
      | quarantined + left in queue  | 100        |
      | dead letters                 | 0          |
      | outside requests             | 0          |
    And consumption is "stopped"

  # A restart is to change nothing: that is its point.
  @always
  Scenario: what workers gave up before a restart counts
    Given the messages M1 to M20
    And M1 to M20 are malformed
    And the attempt limit is 1
    And the quarantine share is 20
    And consumption is expected to stop
    And the worker is killed at deleted of M4 and M8 once
    When all messages are submitted
    Then the totals are
      | quarantined (attempt limit) | 10 |
      | left in queue               | 10 |
      | dead letters                | 0  |
      | outside requests            | 0  |
    And consumption is "stopped"
    And stopped was passed with "too large a share quarantined"
