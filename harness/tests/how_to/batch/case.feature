Feature: A batch callback

  Scenario: without a fault
    Given the messages M1 to M3
    When all messages are submitted
    Then the totals are
      | left in queue | 0 |
      | callbacks     | 1 |
      | outside requests | 1 |

  Scenario: with a death on the way
    Given the messages M1 to M3
    And the worker is killed at packed of M2 once
    When all messages are submitted
    Then the totals are
      | left in queue | 0 |
      | callbacks     | 1 |
      | outside requests | 1 |
