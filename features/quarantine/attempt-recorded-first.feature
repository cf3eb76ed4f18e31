Feature: An attempt is recorded before anything else happens

  Scenario: a worker killed just after it recorded the attempt leaves it in the count
    Given the message M1
    And the worker is killed at attempt-recorded of M1 the first time
    When all messages are submitted
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was received 2 times
    And the worker was killed 1 time

  Scenario: a worker killed each time it has recorded an attempt gives the message up at the limit
    Given the messages M1 to M3
    And the worker is killed at attempt-recorded of M2 the first 3 times
    When all messages are submitted
    Then the totals are
      | attempts started            | 5 |
      | attempts counted            | 3 |
      | completed                   | 2 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 2 |
    And M2 was received 4 times
