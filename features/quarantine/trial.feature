Feature: A fleet on trial

  After a crash with several in hand each worker takes one at a time, until as many messages in a row
  as the trial is long have ended. A pause keeps the trial and does not advance it.

  Background:
    Given the concurrency is 2
    And the trial length is 4

  Scenario: the trial is as long as it is said to be, across an operator's pause
    Given the messages M1 to M4
    And the worker is held at processing of M1 and M2 once
    When M1 and M2 are submitted
    And M1 and M2 have passed processing
    And the worker is killed
    Then M1 and M2 ended as completed
    And consumption is "trial"
    When the operator runs pause
    And the operator runs resume
    And the worker is restarted
    And M3 is submitted
    Then M3 ended as completed
    And consumption is "trial"
    When M4 is submitted
    Then M4 ended as completed
    And consumption is "normal"
    And the totals are
      | attempts started | 6 |
      | attempts counted | 0 |
      | completed        | 4 |

  Scenario: what ends during a pause does not advance the trial
    Given the messages M1 to M5
    And the worker is held at processing of M1 and M2 once
    And the worker is held at processing of M3 once
    When M1 and M2 are submitted
    And M1 and M2 have passed processing
    And the worker is killed
    Then M1 and M2 ended as completed
    When M3 is submitted
    And M3 has passed processing
    And the operator runs pause
    And the held worker goes on
    And M3 has passed deleted
    And the operator runs resume
    And M4 is submitted
    Then M4 ended as completed
    And consumption is "trial"
    When M5 is submitted
    Then M5 ended as completed
    And consumption is "normal"

  Scenario: a crash during the trial begins it anew
    Given the messages M1 to M6
    And the worker is held at processing of M1 and M2 once
    And the worker is killed at processing of M3 once
    When M1 and M2 are submitted
    And M1 and M2 have passed processing
    And the worker is killed
    Then M1 and M2 ended as completed
    When M3 to M5 are submitted
    Then M3 to M5 ended as completed
    And consumption is "trial"
    When M6 is submitted
    Then M6 ended as completed
    And consumption is "normal"
    And the totals are
      | attempts counted | 1 |

  Scenario: a person's pause lasts until a person ends it
    Given the message M1
    And the system is running
    When the operator runs pause
    And M1 is submitted
    Then the totals are
      | attempts started | 0 |
      | left in queue    | 1 |
    And consumption is "paused by an operator"
    When the worker is restarted
    Then nothing more happens over 10 calls of the worker
    And consumption is "paused by an operator"
    When the operator runs resume
    Then the totals are
      | completed     | 1 |
      | left in queue | 0 |
