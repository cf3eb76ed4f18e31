Feature: A job that takes long

  Scenario Outline: two workers and no fault (<variant>)
    Given the variant is <variant>
    And the messages M1 to M2
    When all messages are submitted
    Then the totals are
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |

    Examples:
      | variant |
      | broken  |
      | mended  |
