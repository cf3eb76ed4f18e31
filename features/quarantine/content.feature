Feature: What a quarantine record holds

  Scenario: content that is no text is kept byte for byte
    Given the message M1
    And M1 is unreadable
    And the attempt limit is 2
    When M1 is submitted
    Then the totals are
      | attempts started            | 2 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
    And the stored content of M1 is exactly its content
    And M1 passed released 2 times

  Scenario: the last stage is that of the last attempt
    Given the messages M1 and M2
    And the attempt limit is 2
    And the worker is killed at started of M1 on time 1
    And the worker is killed at processing of M1 once
    And the worker is killed at processing of M2 on time 1
    And the worker is killed at started of M2 on time 2
    When all messages are submitted
    Then the totals are
      | attempts started            | 4 |
      | attempts counted            | 4 |
      | quarantined (attempt limit) | 2 |
      | left in queue               | 0 |
    And the last stage of M1 is "processing"
    And the last stage of M2 is "started"
    And the attempts in quarantine of M1 is 2
    And the first end on record of M1 is "died"
    And the first stage on record of M1 is "started"

  Scenario: failures count for a job, whichever copy they met
    Given the message M1
    And M1 is malformed
    And the publisher is heard twice at accepted of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started            | 3 |
      | attempts counted            | 3 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
    And M1 was sent 2 times
