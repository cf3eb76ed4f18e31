Feature: Popped first, kept afterwards

  Scenario Outline: a worker dies with a message in hand (<variant>)
    Given the messages M1 to M3
    And the worker is killed at <stage> of M2 once
    When all messages are submitted
    Then the totals are
      | completed     | 3 |
      | left in queue | 0 |

    Examples:
      | variant | stage  |
      | broken  | popped |
      | mended  | kept   |
