Feature: Finished work is sent back to its queue

  Scenario Outline: a person redrives the dead letters (<variant>)
    Given the variant is <variant>
    And the message M1
    When all messages are submitted
    And M1 has passed deleted
    And the queue dead is redriven to its source
    Then the totals are
      | completed        | 1 |
      | outside requests | 1 |

    Examples:
      | variant |
      | broken  |
      | mended  |
