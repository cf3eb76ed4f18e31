Feature: What a database transaction cannot take back

  The outside service performs one write for each document. Whether it honours an idempotency key or
  not: a write whose answer is missing is never repeated by itself.

  Scenario: the job id is the key, where the service honours one
    Given the message M1
    And the outside key header is Idempotency-Key
    When M1 is submitted
    Then the totals are
      | completed        | 1 |
      | outside requests | 1 |
    And outside-sent of M1 carried its job id as key

  Scenario Outline: the key alone permits no repetition
    Given the message M1
    And the outside key header is <header>
    And the worker loses the reply at outside-sent of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started              | 1 |
      | completed                     | 0 |
      | quarantined (outcome unknown) | 1 |
      | left in queue                 | 0 |
      | outside requests              | 1 |
    And the client label of M1 is "outcome unknown"

    Examples:
      | header          |
      | Idempotency-Key |
      | X-Job           |

  Scenario: a doubled request is performed once, where the service honours its key
    Given the message M1
    And the outside key header is Idempotency-Key
    And the honoured key header is Idempotency-Key
    And the worker is heard twice at outside-asked of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started    | 1 |
      | completed           | 1 |
      | left in queue       | 0 |
      | outside requests    | 1 |
      | outside repetitions | 1 |
    And outside-sent of M1 carried its job id as key

  Scenario: a service that honours keys is not asked again after a lost answer
    Given the message M1
    And the outside key header is Idempotency-Key
    And the honoured key header is Idempotency-Key
    And the worker loses the reply at outside-sent of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started              | 1 |
      | completed                     | 0 |
      | quarantined (outcome unknown) | 1 |
      | left in queue                 | 0 |
      | outside requests              | 1 |
      | outside repetitions           | 0 |
    And M1 passed outside-asked 1 time
    And the client label of M1 is "outcome unknown"

  Scenario: a write that was answered is not repeated by the next attempt
    Given the message M1
    And the worker is killed at finishing of M1 the first 2 times
    When M1 is submitted
    Then the totals are
      | attempts started | 3 |
      | completed        | 1 |
      | outside requests | 1 |
    And M1 passed outside-sent 1 time
