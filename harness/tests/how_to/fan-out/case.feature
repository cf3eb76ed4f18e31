Feature: A fan-out

  Scenario: without a fault
    Given the messages M1 to M3
    When all messages are submitted
    Then the totals are
      | left in queue | 0 |

  Scenario: with a death on the way
    Given the messages M1 to M3
    And the packer is killed at packed of any message once
    When all messages are submitted
    Then the totals are
      | left in queue | 0 |
