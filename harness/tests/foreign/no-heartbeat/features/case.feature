Feature: A job that takes long

  Scenario Outline: two workers and no fault (<variant>)
    Given the variant is <variant>
    And the message M1
    When all messages are submitted
    Then the totals are
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |

    Examples:
      | variant |
      | broken  |
      | mended  |
