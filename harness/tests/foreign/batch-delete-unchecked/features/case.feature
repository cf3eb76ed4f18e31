Feature: A batch of deletions

  Scenario Outline: one of them is refused (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the worker finds its entry refused with InternalError at deleted of M2 once
    When all messages are submitted
    Then the totals are
      | completed        | 3 |
      | left in queue    | 0 |
      | outside requests | 3 |

    Examples:
      | variant |
      | broken  |
      | mended  |
