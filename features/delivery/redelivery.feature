Feature: A redelivered message finds its job finished

  Scenario: a worker killed after its commit and before its delete
    Given the messages M1 to M3
    And the worker is killed at committed of M2 the first time
    When all messages are submitted
    Then the totals are
      | attempts started | 3 |
      | attempts counted | 0 |
      | completed        | 3 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 3 |
    And M2 was received 2 times
    And M2 has 1 attempts started
    And M2 has 1 outside requests
    And the state of M2 is "succeeded"
