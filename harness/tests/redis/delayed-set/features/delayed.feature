Feature: A sorted set of delays

  Scenario Outline: a worker dies while a message becomes due (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the worker is killed at due of M2 once
    When all messages are submitted
    Then the totals are
      | completed        | 3 |
      | left in queue    | 0 |
      | outside requests | 3 |

    Examples:
      | variant |
      | broken  |
      | mended  |
