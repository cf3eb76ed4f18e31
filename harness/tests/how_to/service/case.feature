Feature: A service of your own

  Scenario: without a fault
    Given the messages M1 to M3
    When all messages are submitted
    Then the totals are
      | left in queue    | 0 |
      | outside requests | 3 |

  Scenario: it dies on the way, and one request never reaches it
    Given the messages M1 to M4
    And the worker is refused with 503 at "POST /payments" of M4 once
    When M1 is submitted
    And M1 has passed paid
    And the bank is killed
    And M2 to M4 are submitted
    Then the totals are
      | left in queue    | 0 |
      | outside requests | 4 |
    And the bank was killed 1 time
