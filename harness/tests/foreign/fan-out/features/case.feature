Feature: A job that is done in parts

  Scenario Outline: the splitter dies between two sends (<variant>)
    Given the variant is <variant>
    And the messages M1 to M2
    And the splitter is killed at handed-on of any message once
    When all messages are submitted
    Then the totals are
      | split            | 2 |
      | completed        | 6 |
      | left in queue    | 0 |
      | outside requests | 6 |

    Examples:
      | variant |
      | broken  |
      | mended  |
