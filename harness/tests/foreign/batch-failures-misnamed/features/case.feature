Feature: A batch in which one fails

  Scenario Outline: what failed is reported (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the outside answers 503
      | for   | M2     |
      | until | 1 calls |
    When all messages are submitted
    Then the totals are
      | completed        | 3 |
      | left in queue    | 0 |
      | outside requests | 3 |

    Examples:
      | variant |
      | broken  |
      | mended  |
