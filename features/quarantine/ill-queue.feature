Feature: The queue itself is ill

  What the queue had acknowledged is still there when it comes back, and nothing is done twice.

  Background:
    Given the messages M1 to M10

  Scenario: the queue server stands still for a while
    Given the queue freezes
      | from  | 3 completed |
      | until | 1s          |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0  |
      | completed        | 10 |
      | quarantined      | 0  |
      | left in queue    | 0  |
      | dead letters     | 0  |
      | outside requests | 10 |

  Scenario: the queue server dies and comes back
    Given the visibility timeout is 2
    And the queue dies
      | from  | 3 completed |
      | until | 1s          |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0  |
      | completed        | 10 |
      | quarantined      | 0  |
      | left in queue    | 0  |
      | outside requests | 10 |

  Scenario: nothing can be deleted for a while
    Given the visibility timeout is 1
    And the queue answers "InternalFailure"
      | only  | DeleteMessage |
      | until | 10 calls      |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0  |
      | completed        | 10 |
      | quarantined      | 0  |
      | left in queue    | 0  |
      | outside requests | 10 |
    And stepped-back was passed at least 10 times
