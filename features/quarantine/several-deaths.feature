Feature: Several messages kill workers close together

  That may be poison several times, or a dependency that takes workers down with it. Consumption pauses
  until every dependency was probed.

  Background:
    Given the messages M1 to M5

  Scenario: two are no reason to pause
    Given the worker is killed at processing of M1 and M2 once
    When all messages are submitted
    Then the totals are
      | attempts started | 7 |
      | attempts counted | 2 |
      | completed        | 5 |
      | outside requests | 5 |
    And paused was passed 0 times

  Scenario: all dependencies are well, and the deaths stay charged
    Given the worker is killed at processing of M1, M2 and M3 once
    When all messages are submitted
    Then the totals are
      | attempts started | 8 |
      | attempts counted | 3 |
      | completed        | 5 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 5 |
    And paused was passed with "several deaths"
    And consumption is "normal"

  Scenario: a dependency is ill, and nobody stays charged
    Given the worker is killed at processing of M1, M2 and M3 once
    And the outside answers 503
      | only  | GET /healthz  |
      | until | deaths-blamed |
    When all messages are submitted
    Then the totals are
      | attempts started | 8 |
      | attempts counted | 0 |
      | completed        | 5 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 5 |
    And paused was passed with "several deaths"
    And consumption is "normal"
