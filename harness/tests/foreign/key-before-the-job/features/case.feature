Feature: The key is kept before the job

  Scenario Outline: the api dies once the key is durable, and the client asks again (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the api is killed at keyed of M2 once
    When M1 is submitted
    And the client submits M2 until it is told its job
    And M3 is submitted
    Then the totals are
      | completed     | 3 |
      | left in queue | 0 |

    Examples:
      | variant |
      | broken  |
      | mended  |
