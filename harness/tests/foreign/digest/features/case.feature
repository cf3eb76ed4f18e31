Feature: One write for several messages

  Scenario Outline: the worker dies when its digest is written (<variant>)
    Given the variant is <variant>
    And the messages M1 to M4
    And the worker is killed at committed of any message once
    When all messages are submitted
    Then the totals are
      | completed     | 4 |
      | left in queue | 0 |

    Examples:
      | variant |
      | broken  |
      | mended  |
