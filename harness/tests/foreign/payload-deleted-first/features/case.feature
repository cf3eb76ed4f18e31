Feature: A large message's payload outlives its message

  Scenario Outline: a death between the two deletes (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the worker is killed at blob-deleted of M2 once
    When all messages are submitted
    Then the totals are
      | completed     | 3 |
      | left in queue | 0 |
      | dead letters  | 0 |

    Examples:
      | variant |
      | broken  |
      | mended  |
