Feature: A body that nobody lives to read

  The attempt stands before anything of the body is read: whatever a body does to its reader, it is
  counted, and put aside at the limit without being read once more.

  Scenario: a foreign body kills whoever reads it
    Given the message M1
    And the system is running
    When the worker is stopped
    And M2 is put on the queue jobs with the body "no decoder survives this"
    And the worker is killed at decoding of M2 every time
    And the worker is started
    And M1 is submitted
    Then the totals are
      | attempts started            | 4 |
      | attempts counted            | 3 |
      | completed                   | 1 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 1 |
    And M2 was received 4 times
    And M2 passed decoding 3 times
    And the stored body of M2 is exactly what the queue delivered
    And the last stage of M2 is "attempt-recorded"

  Scenario: the body of a job kills whoever reads it
    Given the messages M1 and M2
    And the worker is killed at decoding of M2 every time
    When all messages are submitted
    Then the totals are
      | attempts started            | 4 |
      | attempts counted            | 3 |
      | completed                   | 1 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 1 |
    And M2 was received 4 times
    And M2 passed decoding 3 times
    And the client label of M2 is "attempt limit"

  Scenario: what killed a worker that was to read it is not read by the reconciler
    Given the message M1
    And the max receives is 1
    And the system is running
    When the worker is stopped
    And M2 is put on the queue jobs with the body '{"job_id": "0192f0c1-2345-7abc-8def-0123456789ab"}'
    And the worker is killed at decoding of M2 once
    And the worker is started
    And M1 is submitted
    Then the totals are
      | completed    | 1 |
      | dead letters | 1 |
    When the operator runs reconcile
    Then the totals are
      | completed                 | 1 |
      | failed                    | 0 |
      | quarantined (undecodable) | 1 |
      | dead letters              | 0 |
