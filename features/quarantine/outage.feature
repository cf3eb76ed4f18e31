Feature: A shared outage is nobody's failure

  A dependency is ill and several messages fail against it. None of them is to blame: the fleet
  pauses, nothing counts, and consumption goes on by itself.

  Scenario: at concurrency one, a failed health probe confirms the first failure
    Given the messages M1 to M5
    And the outside refuses connections
      | from  | committed of M1 |
      | until | paused          |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0 |
      | completed        | 5 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 5 |

  Scenario Outline: an outage in the middle of 200 messages, 20 in hand
    Given the messages M1 to M200
    And 2 instances of the worker run
    And the concurrency is 10
    And the outside <is ill>
      | from  | 20 completed |
      | until | paused       |
      | until | 10s          |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0   |
      | completed        | 200 |
      | quarantined      | 0   |
      | left in queue    | 0   |
      | dead letters     | 0   |
      | outside requests | 200 |

    Examples:
      | is ill              |
      | refuses connections |
      | answers 503         |

  Scenario: what was sent and never answered is unknown, and is not sent again
    Given the messages M1 to M200
    And 2 instances of the worker run
    And the concurrency is 10
    And the outside timeout is 500ms
    And the outside swallows everything
      | from  | 20 completed |
      | until | paused       |
    When all messages are submitted
    Then the totals are
      | completed + quarantined (outcome unknown) | 200        |
      | quarantined (outcome unknown)             | at most 22 |
      | quarantined (attempt limit)               | 0          |
      | left in queue                             | 0          |
      | dead letters                              | 0          |

  Scenario: throttling is nobody's failure and no outage
    Given the messages M1 to M200
    And 2 instances of the worker run
    And the concurrency is 10
    And the outside answers 429
      | only           | POST /notifications |
      | one message in | 3                   |
      | from           | 20 completed        |
      | until          | 30 calls            |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0   |
      | completed        | 200 |
      | quarantined      | 0   |
      | left in queue    | 0   |
      | outside requests | 200 |
    And paused was passed 0 times
