Feature: A retry by a new copy

  Scenario Outline: the worker dies between copy and acknowledgement (<variant>)
    Given the variant is <variant>
    And the messages M1 to M2
    And the worker is refused with 503 at charging of M1 once
    And the worker is killed at sent-again of M1 once
    When all messages are submitted
    Then the totals are
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |

    Examples:
      | variant |
      | broken  |
      | mended  |
