Feature: An entry that is claimed while its owner works on it

  Scenario Outline: the work takes longer than an entry may lie idle (<variant>)
    Given the variant is <variant>
    And the message M1
    When M1 is submitted
    Then the totals are
      | left in queue | 0 |

    Examples:
      | variant |
      | broken  |
      | mended  |
