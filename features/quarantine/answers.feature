Feature: What an answer of the outside service means

  Scenario Outline: <code> says that nothing was performed, and whose fault it is
    Given the message M1
    And the outside answers <code>
      | only | POST /notifications |
    When M1 is submitted
    Then the totals are
      | attempts started            | 3 |
      | attempts counted            | 3 |
      | completed                   | 0 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 0 |
    And outside-asked was passed 3 times
    And paused was passed 0 times

    Examples:
      | code |
      | 400  |
      | 403  |
      | 404  |
      | 408  |
      | 409  |
      | 422  |

  Scenario Outline: <code> says nothing about the write, and it is not repeated
    Given the message M1
    And the outside answers <code>
      | only | POST /notifications |
    When M1 is submitted
    Then the totals are
      | attempts started              | 1 |
      | completed                     | 0 |
      | quarantined (outcome unknown) | 1 |
      | left in queue                 | 0 |
      | outside requests              | 0 |
    And outside-asked was passed 1 time

    Examples:
      | code |
      | 302  |
      | 307  |
      | 500  |
      | 501  |
      | 502  |
      | 504  |

  Scenario Outline: <code> is a success
    Given the message M1
    And the outside performs and answers <code>
      | only | POST /notifications |
    When M1 is submitted
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |

    Examples:
      | code |
      | 200  |
      | 201  |
      | 204  |

  Scenario: a write without an answer is not repeated in the background
    Given the message M1
    And the outside performs and closes
      | only  | POST /notifications |
      | until | 1 call              |
    When M1 is submitted
    Then the totals are
      | quarantined (outcome unknown) | 1 |
      | outside requests              | 1 |
    And nothing more happens over 7 calls of the worker
    And M1 has 1 outside requests

  Scenario: a store that asks for patience counts against nobody
    Given the messages M1 and M2
    And the worker is refused with 429 at read of M1 the first 4 times
    When all messages are submitted
    Then the totals are
      | attempts started | 6 |
      | attempts counted | 0 |
      | completed        | 2 |
      | quarantined      | 0 |
      | left in queue    | 0 |
    And paused was passed 0 times

  Scenario Outline: <code> of the document store is the document's own failure
    Given the message M1
    And the document-store answers <code>
      | only  | GET /documents/{message} |
      | until | 3 calls                  |
    When M1 is submitted
    Then the totals are
      | attempts started            | 3 |
      | attempts counted            | 3 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 0 |
    And paused was passed 0 times
    And the stored content of M1 is exactly its content

    Examples:
      | code |
      | 403  |
      | 404  |
