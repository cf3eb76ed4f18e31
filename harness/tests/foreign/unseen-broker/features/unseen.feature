Feature: A broker that no tap stands before

  Scenario Outline: each message is processed though nobody sees the queue, <variant>
    Given the variant is <variant>
    And the messages M1 to M3
    And the worker is killed before "insert into results" of M2 once
    When all messages are submitted
    Then the totals are
      | completed | 3 |

    Examples:
      | variant |
      | broken  |
      | mended  |
