Feature: Functions that claim and finish

  Scenario Outline: a worker dies with a job in hand (<variant>)
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

  Scenario: two workers share the jobs (mended)
    Given 2 instances of the worker run
    And the messages M1 to M10
    When all messages are submitted
    Then M1 was received 1 time
    And the totals are
      | completed        | 10 |
      | left in queue    | 0  |
      | outside requests | 10 |

  Scenario: what was in a dead worker's hand is received again (mended)
    Given the messages M1 to M3
    And the worker is killed before "POST /charges" of M2 once
    When all messages are submitted
    Then M2 was received 2 times
    And M1 was received 1 time
