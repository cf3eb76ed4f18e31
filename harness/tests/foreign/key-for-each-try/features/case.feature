Feature: A webhook is delivered again

  Scenario Outline: the receiver did it and its answer was lost (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the outside performs and answers 502
      | for   | M2      |
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
