Feature: Work that takes longer than its message is hidden

  Scenario Outline: the queue gave the message up before it was deleted (<variant>)
    Given the variant is <variant>
    And the message M1
    When all messages are submitted
    Then the totals are
      | completed        | 1 |
      | outside requests | 1 |

    Examples:
      | variant |
      | broken  |
      | mended  |
