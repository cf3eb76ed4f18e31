Feature: Queues that are found by their names

  Scenario Outline: scenarios side by side have queues of their own (<variant>, <which>)
    Given the variant is <variant>
    And the messages M1 to M3
    When all messages are submitted
    Then the totals are
      | completed | 3 |

    Examples:
      | variant | which  |
      | mended  | first  |
      | mended  | second |
      | mended  | third  |
      | broken  | fourth |
