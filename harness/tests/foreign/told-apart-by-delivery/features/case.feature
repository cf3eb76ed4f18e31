Feature: An event that a topic delivers twice

  Scenario Outline: in two messages of the queue (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    When all messages are submitted
    And M2 has passed committed
    And a copy of M2 is put on the queue jobs
    Then the totals are
      | completed        | 3 |
      | left in queue    | 0 |
      | outside requests | 3 |

    Examples:
      | variant |
      | broken  |
      | mended  |
