Feature: What else may stand in the queue

  Not everything that a worker receives was put there by the publisher.

  Scenario: foreign bodies end in quarantine, byte for byte, and disturb nobody (K14)
    Given the messages M1 to M15
    When M16 is put on the queue jobs with this body
      """
      Good morning, is this the right queue?
      """
    And M17 is put on the queue jobs with the body '{"job": ["no", "id"], "job_id": 7}'
    And M18 is put on the queue jobs with the body '{"job_id": "\ud800"}'
    And M19 is put on the queue jobs with 100000 nested brackets
    And M20 is put on the queue jobs with the body "   	 "
    And all messages are submitted
    Then the totals are
      | completed                 | 15 |
      | quarantined (undecodable) | 5  |
      | left in queue             | 0  |
      | dead letters              | 0  |
      | outside requests          | 15 |
    And the worker was started 1 time
    And M1 to M15 ended as completed
    And M16 to M20 ended as quarantined
    And M16 to M20 were received 1 time
    And the stored body of M16 is exactly what the queue delivered
    And the stored body of M17 is exactly what the queue delivered
    And the stored body of M18 is exactly what the queue delivered
    And the stored body of M19 is exactly what the queue delivered
    And the stored body of M20 is exactly what the queue delivered
    And the label of M19 is "undecodable"

  Scenario: a message whose job does not exist ends as such, and nothing else suffers
    Given the messages M1 and M2
    When M3 is put on the queue jobs with this body
      """
      {"job_id": "0192f0c1-2345-7abc-8def-0123456789ab"}
      """
    And all messages are submitted
    Then the totals are
      | completed                 | 2 |
      | quarantined (unknown job) | 1 |
      | left in queue             | 0 |
      | outside requests          | 2 |
    And M3 ended as quarantined
    And the stored body of M3 is exactly what the queue delivered

  Scenario: a worker dies while it puts a foreign body aside
    Given the message M1
    And the worker is killed at quarantined of any message once
    When M2 is put on the queue jobs with the body "not JSON"
    And M1 is submitted
    Then the totals are
      | completed                 | 1 |
      | quarantined (undecodable) | 1 |
      | left in queue             | 0 |
    And M2 was received 2 times

  Scenario: foreign bodies in the dead-letter queue are put aside by the reconciler
    Given the message M1
    When M1 is submitted
    And M2 is put on the queue jobs-dead with the body "not JSON"
    And M3 is put on the queue jobs-dead with the body '{"job_id": "0192f0c1-2345-7abc-8def-0123456789ab"}'
    And the operator runs reconcile
    Then the totals are
      | completed                 | 1 |
      | failed                    | 0 |
      | quarantined (undecodable) | 1 |
      | quarantined (unknown job) | 1 |
      | dead letters              | 0 |
