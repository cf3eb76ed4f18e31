Feature: Deploys stop workers all the time

  At SIGTERM a worker takes nothing more. What it has in hand is finished inside the grace or given
  back, and no such stop counts against a message.

  Scenario: deploys use up no attempts (K3)
    Given the message M1
    And the worker gets SIGTERM at processing of M1 the first 4 times
    And the worker is held at processing of M1 the first 4 times
    And the worker is killed at stop-requested of any message the first 4 times
    When M1 is submitted
    Then the totals are
      | attempts started | 5 |
      | attempts counted | 0 |
      | completed        | 1 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | dead letters     | 0 |
      | outside requests | 1 |
    And M1 was received 5 times
    And the preflight had nothing to warn of

  Scenario: with too few receives, deploys alone bring a message to the dead-letter queue (K3)
    Given the message M1
    And the max receives is 3
    And the worker gets SIGTERM at processing of M1 the first 3 times
    And the worker is held at processing of M1 the first 3 times
    And the worker is killed at stop-requested of any message the first 3 times
    When M1 is submitted
    Then the totals are
      | attempts started | 3 |
      | attempts counted | 0 |
      | completed        | 0 |
      | dead letters     | 1 |
      | left in queue    | 0 |
    And the client state of M1 is "pending"
    And the preflight warned "maxReceiveCount is 3 on jobs"
    And the worker logged "maxReceiveCount is 3"

  Scenario: what is in hand at SIGTERM is finished inside the grace
    Given the messages M1 and M2
    And the worker gets SIGTERM at processing of M1 once
    And M1 waits at processing until M1 has passed stop-requested
    When all messages are submitted
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 0 |
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |
    And M1 was received 1 time
    And the worker received nothing after it got SIGTERM
    And the worker exited with code 0
    And the worker was started 2 times

  Scenario: what cannot be finished inside the grace is given back
    Given the message M1
    And the grace is 1s
    And the worker gets SIGTERM at processing of M1 once
    And the worker is held at processing of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 0 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was received 2 times
    And M1 passed released 1 time
    And the worker received nothing after it got SIGTERM
    And the worker exited with code 0
    And no receipt was touched after it was deleted or released

  Scenario Outline: a <process> with nothing to do leaves at once
    Given the message M1
    When M1 is submitted
    Then the totals are
      | completed | 1 |
    When the <process> is stopped
    Then the <process> exited with code 0

    Examples:
      | process   |
      | publisher |
      | api       |

  Scenario: a worker with nothing in hand leaves at once
    Given the message M1
    When M1 is submitted
    Then the totals are
      | completed | 1 |
    When the worker is stopped
    Then the worker exited with code 0
    And the worker received nothing after it got SIGTERM
