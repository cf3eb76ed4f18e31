Feature: What is an outage and what is none

  Different messages must fail against the same dependency, with no success there in between.

  Scenario: two messages that fail together are no outage
    Given the messages M1 and M2
    And the concurrency is 2
    And M1 and M2 wait for each other at processing
    And the worker is refused with 503 at outside-asked of M1 and M2 once
    When all messages are submitted
    Then the totals are
      | attempts started | 4 |
      | attempts counted | 2 |
      | completed        | 2 |
      | quarantined      | 0 |
      | outside requests | 2 |
    And paused was passed 0 times

  Scenario: three messages that fail together are one
    Given the messages M1 to M3
    And the concurrency is 3
    And M1 to M3 wait for each other at processing
    And the outside answers 503
      | only  | POST /notifications |
      | until | paused              |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0 |
      | completed        | 3 |
      | quarantined      | 0 |
      | outside requests | 3 |
    And paused was passed with "outside service"

  Scenario Outline: failures at <stage> with successes in between are none
    Given the messages M1 to M5
    And the worker is refused with 503 at <stage> of M1, M3 and M5 once
    When all messages are submitted
    Then the totals are
      | attempts started | 8 |
      | attempts counted | 3 |
      | completed        | 5 |
      | outside requests | 5 |
    And paused was passed 0 times

    Examples:
      | stage         |
      | outside-asked |
      | read          |

  Scenario: one message that fails again and again is none
    Given the message M1
    And the outside answers 503
      | only | POST /notifications |
    When M1 is submitted
    Then the totals are
      | attempts started            | 3 |
      | attempts counted            | 3 |
      | quarantined (attempt limit) | 1 |
      | outside requests            | 0 |
    And paused was passed 0 times

  Scenario: failures against two dependencies do not add up
    Given the messages M1 to M3
    And the concurrency is 3
    And M1 waits at started until M2 has passed released
    And M3 waits at started until M2 has passed released
    And the worker is refused with 500 at read of M2 once
    And the worker is refused with 503 at outside-asked of M1 and M3 once
    When all messages are submitted
    Then the totals are
      | attempts started | 6 |
      | attempts counted | 3 |
      | completed        | 3 |
      | outside requests | 3 |
    And paused was passed 0 times

  Scenario: documents that no parser reads are no outage
    Given the messages M1 to M4
    And M1 to M4 are malformed
    And the attempt limit is 1
    And the concurrency is 4
    And M1 to M4 wait for each other at processing
    When all messages are submitted
    Then the totals are
      | attempts counted            | 4 |
      | quarantined (attempt limit) | 4 |
      | left in queue               | 0 |
    And paused was passed 0 times

  Scenario Outline: at the limit an ill <dependency> is found out before anything is given up
    Given the message M1
    And the <dependency> answers 503
      | only  | <call>  |
      | until | 3 calls |
    And the <dependency> answers 503
      | only  | GET /healthz            |
      | from  | released of M1, 3 times |
      | until | paused                  |
    When M1 is submitted
    Then the totals are
      | attempts started | 4 |
      | attempts counted | 0 |
      | completed        | 1 |
      | quarantined      | 0 |
      | outside requests | 1 |
    And paused was passed with "<reason>"

    Examples:
      | dependency     | call                     | reason          |
      | outside        | POST /notifications      | outside service |
      | document-store | GET /documents/{message} | document store  |
