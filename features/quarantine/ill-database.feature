Feature: The database itself is ill

  Nothing is processed without an attempt's row. Workers wait, each for itself, and go on by themselves.

  Background:
    Given the messages M1 to M50
    And the concurrency is 5
    And the database timeout is 2s

  Scenario: the database is frozen at the first receive
    Given the database has a server of its own
    And the system is running
    When the worker is stopped
    And all messages are submitted
    And M1 to M50 have passed accepted
    And the database freezes
      | from  | received |
      | until | 3s       |
    And the worker is started
    Then the totals are
      | attempts counted | 0  |
      | completed        | 50 |
      | quarantined      | 0  |
      | left in queue    | 0  |
      | dead letters     | 0  |
      | outside requests | 50 |

  Scenario: the database only reads
    Given the system is running
    When the worker is stopped
    And all messages are submitted
    And M1 to M50 have passed accepted
    And the database is read-only
      | of    | worker   |
      | from  | received |
      | until | 20 calls |
    And the worker is started
    Then the totals are
      | attempts counted | 0  |
      | completed        | 50 |
      | quarantined      | 0  |
      | left in queue    | 0  |
      | dead letters     | 0  |
      | outside requests | 50 |
    And the worker logged "trying again"

  Scenario: the database dies and comes back with what it had acknowledged
    Given the database has a server of its own
    And the system is running
    When the worker is stopped
    And all messages are submitted
    And M1 to M50 have passed marked
    And the database dies
      | from  | committed, 10 times |
      | until | 1s                  |
    And the worker is started
    Then the totals are
      | completed        | 50 |
      | quarantined      | 0  |
      | left in queue    | 0  |
      | outside requests | 50 |
