Feature: What is done is given up as well

  Scenario Outline: a copy of a finished job lies among the dead letters (<variant>)
    Given the variant is <variant>
    And the messages M1 to M2
    When all messages are submitted
    Then M1 to M2 ended as completed

    Examples:
      | variant |
      | broken  |
      | mended  |
