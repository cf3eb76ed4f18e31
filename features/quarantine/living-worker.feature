Feature: A living worker is taken for dead

  A process that stands still, or that lost its connections, is not dead. It may find its steps refused; it
  never does something twice, and nobody stays charged for it.

  Scenario: all database connections of a worker are reset while it processes
    Given the messages M1 to M4
    And 2 instances of the worker run
    And the visibility timeout is 2
    And the database resets connections
      | of    | who passes it    |
      | from  | processing of M1 |
      | until | 1 call           |
    When all messages are submitted
    Then the totals are
      | attempts counted | 0 |
      | completed        | 4 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 4 |
    And the worker logged "reporting back"

  Scenario: a worker reports back while another is charging its death
    Given the message M1
    And 2 instances of the worker run
    And the lease is 1s
    And the visibility timeout is 2
    And the worker gets SIGSTOP at processing of M1 once
    And the worker is delayed by 1s at charging of M1 once
    When M1 is submitted
    And M1 has passed charging
    And the worker goes on
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 0 |
      | completed        | 1 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |

  Scenario: a worker stops after its outside write, is superseded, and wakes
    Given the message M1
    And 2 instances of the worker run
    And the lease is 1s
    And the visibility timeout is 2
    And the worker gets SIGSTOP at outside-sent of M1 once
    When M1 is submitted
    And M1 has passed quarantined
    And the worker goes on
    Then the totals are
      | attempts started              | 1 |
      | completed                     | 0 |
      | quarantined (outcome unknown) | 1 |
      | quarantined                   | 1 |
      | left in queue                 | 0 |
      | outside requests              | 1 |
    And the evidence of M1 is "late answer, Performed: it answered 202"

  Scenario: a worker stops while it processes, is superseded, and wakes
    Given the message M1
    And 2 instances of the worker run
    And the lease is 1s
    And the visibility timeout is 2
    And the worker gets SIGSTOP at processing of M1 once
    When M1 is submitted
    Then M1 passes committed within 12s
    When the worker goes on
    Then the totals are
      | attempts started | 2 |
      | completed        | 1 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And outside-asked was passed 1 time
    And outside-intended was passed 1 time

  Scenario: a worker stops once its outside write was answered, is superseded, and wakes
    Given the message M1
    And 2 instances of the worker run
    And the lease is 1s
    And the visibility timeout is 2
    And the worker gets SIGSTOP at outside-answered of M1 once
    When M1 is submitted
    And M1 has passed committed
    And the worker goes on
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 0 |
      | completed        | 1 |
      | quarantined      | 0 |
      | failed           | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |
    And M1 passed outside-asked 1 time
    And M1 passed outside-intended 1 time
    And M1 passed committed 1 time

  Scenario: a charge is final once a quarantine record rests on it
    Given the message M1
    And 2 instances of the worker run
    And the attempt limit is 1
    And the lease is 600ms
    And the visibility timeout is 1
    And the worker gets SIGSTOP at processing of M1 once
    When M1 is submitted
    And M1 has passed quarantined
    And the worker goes on
    And the evidence of M1 becomes "its owner reported back: it had not died" within 10s
    Then the totals are
      | attempts started            | 1 |
      | attempts counted            | 1 |
      | completed                   | 0 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 0 |
    And the counted on record of M1 is 1

  Scenario: nothing is given up for a charge that was taken back in between
    Given the message M1
    And 2 instances of the worker run
    And the attempt limit is 1
    And the lease is 600ms
    And the visibility timeout is 2
    And the worker gets SIGSTOP at processing of M1 once
    And the worker is held at stepped-back of M1 once
    When M1 is submitted
    And M1 has passed stepped-back
    And the worker goes on
    And the charges of M1 becomes "0"
    And the held worker goes on
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 0 |
      | completed        | 1 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 1 |

  # Nobody is to be judged dead for it: all is as it would have been.
  @always
  Scenario: two workers are cut off from the database for longer than their leases
    Given the messages M1 and M2
    And 2 instances of the worker run
    And the lease is 2s
    And the visibility timeout is 5
    And the worker is held at processing of M1 and M2 once
    When all messages are submitted
    And M1 and M2 have passed processing
    And the database hangs
      | of    | worker-1 |
      | until | 2500ms   |
    And the database hangs
      | of    | worker-2 |
      | until | 3500ms   |
    And the held worker goes on
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 0 |
      | completed        | 2 |
      | outside requests | 2 |
    And charging was passed 0 times

  Scenario: a worker that was superseded does not announce a write any more
    Given the message M1
    And 2 instances of the worker run
    And the lease is 600ms
    And the visibility timeout is 2
    And the worker gets SIGSTOP at processing of M1 on time 1
    And the worker is held at processing of M1 on time 2
    When M1 is submitted
    And M1 has passed processing 2 times
    And the worker goes on
    And the charges of M1 becomes "0"
    And the held worker goes on
    Then the totals are
      | attempts started | 2 |
      | attempts counted | 0 |
      | completed        | 1 |
      | quarantined      | 0 |
      | outside requests | 1 |
    And M1 passed outside-intended 1 time
