Feature: A system without a queue

  Scenario: without a fault
    Given the messages M1 to M3
    When all messages are submitted
    Then the totals are
      | packed | 3 |

  Scenario: with a death on the way
    Given the messages M1 to M3
    And the packer is killed at packed of M2 once
    When all messages are submitted
    Then the totals are
      | packed | 3 |
