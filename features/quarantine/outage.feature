Feature: A shared outage is nobody's failure

  A dependency is ill and several messages fail against it. None of them is to blame: the fleet
  pauses, nothing counts, and consumption goes on by itself.

  Scenario Outline: at concurrency one, a failed health probe of the <dependency> confirms the first failure
    Given the messages M1 to M5
    And the <dependency> refuses connections
      | from  | committed of M1 |
      | until | paused          |
    When all messages are submitted
    Then M1 to M5 pass committed within 12s
    And the totals are
      | attempts started | 6 |
      | attempts counted | 0 |
      | completed        | 5 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 5 |
    And M2 has 2 attempts started
    And paused was passed with "<reason>"

    Examples:
      | dependency     | reason          |
      | outside        | outside service |
      | document-store | document store  |

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
      | quarantined (outcome unknown)             | 1 to 22    |
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

  Scenario: one message that fails against a dependency is no outage
    Given the messages M1 to M5
    And the outside answers 503
      | only | POST /notifications |
      | for  | M2                  |
    When all messages are submitted
    Then the totals are
      | attempts counted            | 3 |
      | completed                   | 4 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 4 |
    And M2 has 3 attempts started
    And M2 ended as quarantined
    And paused was passed 0 times

  Scenario: several different messages failing close together are one
    Given the messages M1 to M5
    And the document-store answers 500
      | only  | GET /documents/{message} |
      | until | paused                   |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0 |
      | completed        | 5 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 5 |
    And paused was passed with "document store"

  Scenario: an outage that lasts leaves the rest in the queue
    Given the messages M1 to M5
    And the outside refuses connections
      | from | committed of M1 |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0 |
      | completed        | 1 |
      | quarantined      | 0 |
      | left in queue    | 4 |
      | outside requests | 1 |
    And consumption is "paused"
    And nothing more happens over 20 calls of the worker
    When the outside is well again
    And consumption has become "normal"
    Then the totals are
      | attempts counted | 0 |
      | completed        | 5 |
      | left in queue    | 0 |
      | outside requests | 5 |
