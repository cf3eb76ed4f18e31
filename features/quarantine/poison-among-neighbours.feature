Feature: Poison among neighbours

  Several messages are in hand when the worker dies. Nobody can tell whose fault it was, so nobody
  is charged: the fleet takes one at a time until the next crash points at a single message.

  Background:
    Given the messages M1 to M20
    And M3 is poison
    And the concurrency is 5
    And M16 to M20 wait for each other at processing

  Scenario: the first crash charges nobody, and only the poison is put aside
    Given the worker is held at processing of M1, M2, M4 and M5 once
    And M3 waits at processing until M1, M2, M4 and M5 have passed processing
    When M1 to M5 are submitted
    And M3 has passed quarantined
    And M6 to M20 are submitted
    Then the totals are
      | attempts started            | 27 |
      | attempts counted            | 3  |
      | completed                   | 19 |
      | quarantined (attempt limit) | 1  |
      | quarantined                 | 1  |
      | left in queue               | 0  |
      | outside requests            | 19 |
    And M3 has 4 attempts started
    And the attempts in quarantine of M3 is 3
    And M1, M2, M4 and M5 have 2 attempts started
    And M6 to M20 have 1 attempts started
    And the most that the worker had in hand before on-trial was 5
    And the most that the worker had in hand between on-trial and trial-over was 1
    And the most that the worker had in hand after trial-over was 5
    And consumption is "normal"

  Scenario: what was performed when the worker died is unknown, and is not repeated
    Given the worker is held at outside-sent of M1 once
    And the worker is held at processing of M2, M4 and M5 once
    And M3 waits at processing until M1 has passed outside-sent
    And M3 waits at processing until M2, M4 and M5 have passed processing
    When M1 to M5 are submitted
    And M3 has passed quarantined
    And M6 to M20 are submitted
    Then the totals are
      | attempts started              | 26 |
      | attempts counted              | 3  |
      | completed                     | 18 |
      | quarantined (attempt limit)   | 1  |
      | quarantined (outcome unknown) | 1  |
      | left in queue                 | 0  |
      | outside requests              | 19 |
    And M1 has 1 attempts started
    And M1 has 1 outside requests
    And consumption is "normal"
