Feature: An outbox that is marked before its broker answered

  Scenario Outline: the broker refuses once (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the queue answers "InternalFailure"
      | only  | SendMessage |
      | for   | M2          |
      | until | 1 calls     |
    When all messages are submitted
    Then the totals are
      | completed     | 3 |
      | left in queue | 0 |

    Examples:
      | variant |
      | broken  |
      | mended  |
