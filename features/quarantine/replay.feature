Feature: What was replayed may end in quarantine again

  Each series has a record of its own, and none of them is ever deleted.

  Scenario: a job that is given up again after a replay keeps both records
    Given the messages M1 and M2
    And M2 is malformed
    And the attempt limit is 1
    When all messages are submitted
    Then M2 ended as quarantined
    When the operator runs cause "nobody knows" for M2
    And the operator runs replay for M2
    And M2 has passed quarantined 2 times
    Then the totals are
      | attempts started            | 3 |
      | attempts counted            | 2 |
      | completed                   | 1 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
    And the records of M2 is 2
    And the attempts in quarantine of M2 is 1
