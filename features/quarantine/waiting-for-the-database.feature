Feature: A process waits for its database

  Whether the database was ill before it started, or ended its session while it stood still: it goes
  on by itself.

  Scenario Outline: the <process> starts while the database hangs
    Given the message M1
    And the database timeout is 200ms
    And the system is running
    When the <process> is stopped
    And M1 is submitted
    And the database hangs
      | of    | <process> |
      | until | 800ms     |
    And the <process> is started
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And the <process> was started 2 times

    Examples:
      | process   |
      | worker    |
      | publisher |

  Scenario: the database ends the transaction of a publisher that stands still
    Given the message M1
    And the database timeout is 250ms
    And the publisher gets SIGSTOP at accepted of M1 once
    When M1 is submitted
    And M1 has passed accepted
    And the publisher sessions of M1 becomes "0"
    And the publisher goes on
    Then the totals are
      | attempts started | 1 |
      | completed        | 1 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 was sent 2 times
    And the publisher was started 1 time
