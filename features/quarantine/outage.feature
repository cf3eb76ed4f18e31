Feature: A shared outage is nobody's failure

  A dependency is ill and several messages fail against it. None of them is to blame: the fleet
  pauses, nothing counts, and consumption goes on by itself.

  Scenario: at concurrency one, a failed health probe confirms the first failure
    Given the messages M1 to M5
    And the outside refuses connections
      | from  | committed of M1 |
      | until | paused          |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0 |
      | completed        | 5 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 5 |
