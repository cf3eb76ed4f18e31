Feature: What a client is told

  Every state of a job is told as it is, with what belongs to it: the text, the label, or the error.

  Scenario: a finished job tells its whole text and what the client sent along
    Given the message M1
    When M1 is submitted
    Then M1 ended as completed
    And the client state of M1 is "succeeded"
    And the client text of M1 is exactly its content
    And the client sender of M1 is "rehearsal"

  Scenario: pages and papers yield their text, and nothing else
    Given the messages M1 and M2
    And M1 is page
    And M2 is paper
    When all messages are submitted
    Then the totals are
      | completed                 | 2 |
      | results with another text | 0 |

  Scenario: a quarantined job is told as such, with its label
    Given the message M1
    And M1 is malformed
    And the attempt limit is 1
    When M1 is submitted
    Then M1 ended as quarantined
    And the client state of M1 is "quarantined"
    And the client label of M1 is "attempt limit"

  Scenario: a failed job is told with its last error
    Given the message M1
    And M1 is unreadable
    And the max receives is 2
    When M1 is submitted
    Then the totals are
      | dead letters | 1 |
    When the operator runs reconcile
    Then the client state of M1 is "failed"
    And the client error of M1 is "2 attempts, the last: malformed document: there is no parser for `image/x-unknown`"
