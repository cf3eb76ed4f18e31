Feature: A stream that a group reads

  Scenario Outline: a worker dies with a message in hand (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the worker is killed before "POST /charges" of M2 once
    When all messages are submitted
    Then the totals are
      | completed        | 3 |
      | left in queue    | 0 |
      | outside requests | 3 |

    Examples:
      | variant |
      | broken  |
      | mended  |

  Scenario: a message that was in a dead worker's hand is received again (mended)
    Given the messages M1 to M3
    And the worker is killed before "POST /charges" of M2 once
    When all messages are submitted
    Then M2 was received 2 times
    And M1 was received 1 time

  Scenario: the reply to the removal is lost (mended)
    Given the messages M1 to M3
    And the worker loses the reply at removed of M1 once
    When all messages are submitted
    Then the totals are
      | completed     | 3 |
      | left in queue | 0 |

  Scenario: the server dies with what it acknowledged (mended)
    Given the messages M1 to M3
    And the worker is killed before "POST /charges" of M2 once
    And the redis dies
      | from  | finished of M1 |
      | until | 500ms              |
    When all messages are submitted
    Then the totals are
      | completed     | 3 |
      | left in queue | 0 |
