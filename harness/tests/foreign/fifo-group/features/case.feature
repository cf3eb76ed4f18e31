Feature: Order within a message group

  Scenario Outline: the second waits for the first (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the worker is refused with 503 at charging of M1 once
    When the worker is stopped
    And all messages are submitted
    And M1 to M3 have passed accepted
    And the worker is started
    Then the totals are
      | completed | 3 |

    Examples:
      | variant |
      | broken  |
      | mended  |

  Scenario: a delayed message is made due
    Given the delay is 900
    And the messages M1 to M2
    When all messages are submitted
    And the delay of M1 is over
    And the delay of M2 is over
    Then the totals are
      | completed | 2 |
