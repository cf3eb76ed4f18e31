Feature: The gap before the queue

  The API records a pending job and "enqueue this job" in one transaction, and names the job only
  once it is durable. A client whose answer was lost asks again under the same key.

  Scenario: twenty posts at once with one key make one job (K10 a)
    Given the message M1
    And the api is delayed by 300 ms at recording of M1 once
    When the client submits M1 20 times at once
    Then every answer names the same job
    And no answer was a server error
    And the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was sent 1 time
    And M1 passed submitted 1 time

  Scenario: the API dies after its commit and before its reply (K10 b)
    Given the message M1
    And the api is killed at submitted of M1 once
    When the client submits M1 and gets no answer
    And the client submits M1 again
    Then the outbox rows of M1 is still "1"
    And the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 passed submitted 1 time
    And M1 was sent 1 time
    And M1 is that job

  Scenario: the API dies before its commit (K10 c)
    Given the message M1
    And the api is killed at recording of M1 once
    When the client submits M1 and gets no answer
    Then M1 never passed submitted
    When the client submits M1 again
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | outside requests | 1 |
    And M1 passed submitted 1 time

  Scenario: other content under the same key is refused (K10 d)
    Given the messages M1 and M2
    When M1 is submitted
    And the client submits M2 under the key of M1
    Then the client was answered 422
    And the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | outside requests | 1 |
    And M2 never passed submitted
    And M1 ended as completed

  Scenario: the same content in another order is the same request (K10 e)
    Given the message M1
    When M1 is submitted
    And the client submits M1 with its members in another order
    Then the client was answered 202
    And M1 is that job
    And the totals are
      | attempts started | 1 |
      | completed        | 1 |

  Scenario: a job whose client never learned of it is done all the same
    Given the message M1
    And the client loses the reply when it submits M1 once
    When the client submits M1 and gets no answer
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    When the client submits M1 again
    Then M1 is that job
    And M1 passed submitted 1 time

  Scenario: a client that gave up finds its job by asking again
    Given the message M1
    And the client gives up after 300 ms
    And the api is delayed by 800 ms at submitted of M1 once
    When the client submits M1 and gets no answer
    And the client submits M1 until it is told its job
    Then M1 is that job
    And the totals are
      | attempts started | 1 |
      | completed        | 1 |
    And M1 passed submitted 1 time

  Scenario: a submission that the network repeats makes one job
    Given the message M1
    And the client is heard twice when it submits M1 once
    When M1 is submitted
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | outside requests | 1 |
    And M1 passed submitted 1 time

  Scenario: a request that never arrives makes no job
    Given the message M1
    And the client loses its request when it submits M1 once
    When the client submits M1 and gets no answer
    Then the totals are
      | attempts started | 0 |
      | completed        | 0 |
    When the client submits M1 again
    Then the totals are
      | completed | 1 |

  Scenario: a transaction that the database refuses promises nothing
    Given the message M1
    And the api is refused with 40001 at submitted of M1 once
    When the client submits M1 under the key of M1
    Then the client was answered 503
    And M1 never passed submitted
    When M1 is submitted
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
