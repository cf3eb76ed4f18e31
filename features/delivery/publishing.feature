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
