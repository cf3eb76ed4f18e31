Feature: A stub with a memory

  Scenario: without a fault
    Given the messages M1 to M3
    When all messages are submitted
    Then the totals are
      | left in queue | 0 |
      | outside requests | 3 |

  Scenario: with a death on the way
    Given the messages M1 to M3
    And the worker is killed after "PUT /shelf/{job}" of M2 once
    When all messages are submitted
    Then the totals are
      | left in queue | 0 |
      | outside requests | 3 |
