Feature: The gap between the outbox and the queue

  A publisher marks a row delivered only after the queue accepted it. If it crashes in between
  it sends again, which is harmless: the worker recognises the job.

  Scenario: the publisher dies after each acceptance, once for each row (K9)
    Given the messages M1 to M10
    And the publisher is killed at accepted of each message once
    When all messages are submitted
    Then the totals are
      | attempts started | 10 |
      | completed        | 10 |
      | left in queue    | 0  |
      | dead letters     | 0  |
      | outside requests | 10 |
    And M1 to M10 were sent 2 times
    And M1 to M10 ended as completed
    And M1 to M10 did not pass accepted after marked
    And the publisher was killed 10 times

  Scenario: the publisher dies at ten of its stages, as the seed has it (K9)
    Given the messages M1 to M100
    And the concurrency is 5
    And the publisher is killed at 10 of its first 200 stages
    When all messages are submitted
    Then the totals are
      | attempts started | 100 |
      | completed        | 100 |
      | left in queue    | 0   |
      | dead letters     | 0   |
      | outside requests | 100 |
    And accepted was passed 100 to 110 times
    And M1 to M100 did not pass accepted after marked
    And the publisher was killed 10 times

  Scenario: a publisher that was down sends all that waited
    Given the messages M1 to M3
    And the system is running
    When the publisher is stopped
    And all messages are submitted
    Then the unsent rows of M1 is still "3"
    And the client state of M1 is still "pending"
    When the operator runs outbox
    Then the operator is told "oldest_unsent_seconds"
    When the publisher is started
    Then the totals are
      | completed     | 3 |
      | left in queue | 0 |
    And the unsent rows of M1 is 0

  Scenario: two publishers share the outbox and send each row once
    Given the messages M1 to M20
    And 2 instances of the publisher run
    When all messages are submitted
    Then the totals are
      | attempts started | 20 |
      | completed        | 20 |
      | outside requests | 20 |
    And M1 to M20 were sent 1 time

  Scenario: two publishers, one of which dies again and again
    Given the messages M1 to M10
    And 2 instances of the publisher run
    And the publisher-1 is killed at accepted of any message every time
    When all messages are submitted
    Then the totals are
      | completed        | 10 |
      | left in queue    | 0  |
      | outside requests | 10 |
    And accepted was passed at least 11 times

  Scenario: the answer to a batch is read entry by entry
    Given the messages M1 to M5
    And the publish batch is 5
    And the system is running
    When the publisher is stopped
    And all messages are submitted
    And the publisher finds its entry refused with InternalError at accepted of M3 the first 2 times
    And the publisher is started
    Then the totals are
      | attempts started | 5 |
      | completed        | 5 |
      | left in queue    | 0 |
    And M1 to M5 were sent 1 time
    And M1 to M5 passed marked 1 time
    And M3 passed sending 3 times

  Scenario: a batch whose answer is lost is sent again
    Given the messages M1 to M5
    And the publish batch is 5
    And the system is running
    When the publisher is stopped
    And all messages are submitted
    And the publisher loses the reply at accepted of any message once
    And the publisher is started
    Then the totals are
      | attempts started | 5  |
      | completed        | 5  |
      | left in queue    | 0  |
      | outside requests | 5  |
    And M1 to M5 were sent 2 times

  Scenario: a queue that refuses for a while is tried again for as long as it lasts
    Given the messages M1 and M2
    And the publisher is refused with InternalError at accepted of M1 the first 5 times
    And the publisher loses its request at accepted of M2 the first 2 times
    When all messages are submitted
    Then the totals are
      | completed     | 2 |
      | unsendable    | 0 |
      | left in queue | 0 |
    And M1 and M2 were sent 1 time
    And M1 passed sending 6 times
    And M2 passed sending 3 times

  Scenario: the network repeats a send
    Given the message M1
    And the publisher is heard twice at accepted of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was sent 2 times

  Scenario: a row that can never be sent is set aside where it is seen, and blocks nobody
    Given the messages M1 to M3
    And the publisher is refused with InvalidMessageContents at accepted of M2 every time
    When all messages are submitted
    Then M1 and M3 pass marked within 10s
    And the unsendable rows of M2 becomes "1" within 10s
    And the totals are
      | completed        | 2 |
      | unsendable       | 1 |
      | left in queue    | 0 |
      | outside requests | 2 |
    And M1 and M3 ended as completed
    And M2 was sent 0 times
    And M2 passed sending 3 times
    And the client state of M2 is "pending"
    And the unsendable rows of M2 is 1
    When the operator runs outbox
    Then the operator is told "unsendable"

  Scenario: a send that fails in between takes no refusal back
    Given the message M1
    And the publisher is refused with InvalidMessageContents at accepted of M1 the first 2 times
    And the publisher is refused with InternalFailure at accepted of M1 on time 3
    And the publisher is refused with InvalidMessageContents at accepted of M1 on time 4
    When M1 is submitted
    Then the unsendable rows of M1 becomes "1" within 10s
    And the totals are
      | completed        | 0 |
      | unsendable       | 1 |
      | left in queue    | 0 |
    And M1 was sent 0 times
    And M1 passed sending 4 times

  Scenario: the mark itself is lost
    Given the messages M1 and M2
    And the publisher loses its request at marked of M1 once
    And the publisher loses the reply at marked of M2 once
    When all messages are submitted
    Then the totals are
      | attempts started | 2 |
      | completed        | 2 |
      | left in queue    | 0 |
    And M1 was sent 2 times
    And M2 was sent 1 time

  Scenario: a queue that refuses is not asked without a pause
    Given the message M1
    And the publish backoff is 200ms
    And the queue answers "InternalFailure"
      | only  | SendMessage |
      | until | 700ms       |
    When M1 is submitted
    Then the totals are
      | completed     | 1 |
      | left in queue | 0 |
    And the few failed sends of M1 is "true"

  Scenario: a row that is refused for a while blocks nobody
    Given the messages M1 to M3
    And the queue answers "InternalFailure"
      | only  | SendMessage  |
      | for   | M1           |
      | until | marked of M3 |
    When all messages are submitted
    Then M3 passes marked within 10s
    And the totals are
      | completed     | 3 |
      | left in queue | 0 |

  Scenario: the outbox lags for as long as its oldest row waits too long
    Given the messages M1 and M2
    And the outbox lag is 500ms
    And the system is running
    When the publisher is stopped
    And M1 is submitted
    And the outbox lags of M1 becomes "true"
    And M2 is submitted
    Then the outbox lags of M1 is still "true"
    And the unsent rows of M1 is still "2"
    When the publisher is started
    Then the totals are
      | completed | 2 |
    And the outbox lags of M1 is "false"
    And the unsendable rows of M1 is 0

  Scenario: a row that becomes durable after a later one is sent as well
    Given the messages M1 and M2
    And the client gives up after 300 ms
    And the api is delayed by 600 ms at recording of M1 once
    When the client submits M1 and gets no answer
    And M2 is submitted
    And the client submits M1 until it is told its job
    Then M1 and M2 pass marked within 10s
    And the totals are
      | completed     | 2 |
      | left in queue | 0 |
