Feature: Scenarios are tests

  Background:
    Given the attempt limit is 3

  Scenario: all messages are handled
    When M1 to M5 are handled
    Then the totals are
      | handled | 5 |

  Scenario Outline: so many messages
    When <messages> are handled
    Then the totals are
      | handled | <handled> |

    Examples:
      | messages      | handled |
      | M1 and M2     | 2       |
      | M1, M2 and M4 | 3       |
