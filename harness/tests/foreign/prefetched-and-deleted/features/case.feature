Feature: More in hand than in work

  Scenario Outline: the worker is asked to stop (<variant>)
    Given the variant is <variant>
    And the messages M1 to M6
    And the worker gets SIGTERM at committed of M2 once
    When all messages are submitted
    Then the totals are
      | completed        | 6 |
      | left in queue    | 0 |
      | outside requests | 6 |

    Examples:
      | variant |
      | broken  |
      | mended  |
