Feature: Where the brake begins

  More than the share of the last 50 jobs, and at least ten of them: exactly there, on both sides.

  Scenario: the share itself does not stop the fleet, one more does
    Given the messages M1 to M12
    And M9 to M12 are malformed
    And the attempt limit is 1
    And the quarantine share is 20
    And consumption is expected to stop
    When all messages are submitted
    Then the totals are
      | completed                   | 8 |
      | quarantined (attempt limit) | 3 |
      | left in queue               | 1 |
    And consumption is "stopped"
    When the operator runs pause
    And the operator runs status
    Then the operator is told '"mode": "stopped"'
    When the operator runs resume
    Then the totals are
      | completed                   | 8 |
      | quarantined (attempt limit) | 4 |
      | left in queue               | 0 |
    And consumption is "normal"
    And stopped was passed 1 time

  Scenario: what timed out is braked, and brakes
    Given the messages M1 to M12
    And M10 and M11 are malformed
    And the attempt limit is 1
    And the job deadline is 500ms
    And the quarantine share is 20
    And the worker is held at processing of M9 and M12 every time
    And consumption is expected to stop
    When M1 to M11 are submitted
    Then the totals are
      | completed                   | 8 |
      | quarantined (attempt limit) | 2 |
      | quarantined (timed out)     | 1 |
    When M12 is submitted
    Then the totals are
      | quarantined (attempt limit) | 2 |
      | quarantined (timed out)     | 1 |
      | left in queue               | 1 |
    And consumption is "stopped"

  Scenario: other labels are not braked
    Given the messages M1 to M11
    And M9 to M11 are malformed
    And the attempt limit is 1
    And the quarantine share is 20
    When all messages are submitted
    Then the totals are
      | completed                   | 8 |
      | quarantined (attempt limit) | 3 |
    When M12 is put on the queue jobs with the body "not JSON"
    Then the totals are
      | quarantined (attempt limit) | 3 |
      | quarantined (undecodable)   | 1 |
      | left in queue               | 0 |
    And consumption is "normal"

  Scenario: unknown outcomes do not brake
    Given the messages M1 to M12
    And M12 is malformed
    And the attempt limit is 1
    And the quarantine share is 20
    And the outside answers 502
      | only | POST /notifications |
      | for  | M9, M10 and M11     |
    When all messages are submitted
    Then the totals are
      | completed                     | 8 |
      | quarantined (outcome unknown) | 3 |
      | quarantined (attempt limit)   | 1 |
      | left in queue                 | 0 |
    And consumption is "normal"

  Scenario: only the last fifty count
    Given the messages M1 to M75
    And M61 to M75 are malformed
    And the attempt limit is 1
    And the quarantine share is 20
    And consumption is expected to stop
    When all messages are submitted
    Then the totals are
      | completed                   | 60 |
      | quarantined (attempt limit) | 11 |
      | left in queue               | 4  |
    And consumption is "stopped"

  Scenario: what a person settled leaves room in quarantine
    Given the messages M1 to M3
    And M1 to M3 are malformed
    And the attempt limit is 1
    And the quarantine capacity is 2
    When M1 and M2 are submitted
    Then the totals are
      | quarantined (attempt limit) | 2 |
    When the operator runs resolve "done" for M1
    And M3 is submitted
    Then the totals are
      | quarantined (attempt limit) | 3 |
      | left in queue               | 0 |
    And consumption is "normal"
