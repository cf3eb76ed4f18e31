Feature: A consumer is patient with a queue that is ill

  Scenario Outline: it asks a few times only while the queue answers errors (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    And the system is running
    When the queue answers "ServiceUnavailable"
      | only  | ReceiveMessage |
      | until | 3s             |
    And all messages are submitted
    Then the totals are
      | completed      | 3          |
      | left in queue  | 0          |
      | receives begun | at most 40 |
    And the worker made 2 to 40 calls of ReceiveMessage
    And the worker made at most 8 calls of "ReceiveMessage jobs" in any second

    Examples:
      | variant |
      | broken  |
      | mended  |

  Scenario Outline: and while it resets connections (<variant>)
    Given the variant is <variant>
    And the messages M1 to M3
    When M1 to M3 are submitted
    And M1 to M3 have passed deleted
    And the queue resets connections
      | of    | worker |
      | until | 3s     |
    Then the totals are
      | completed      | 3          |
      | left in queue  | 0          |
      | receives begun | at most 40 |
    And the worker made 2 to 40 calls of ReceiveMessage
    And the worker made at most 8 calls of "ReceiveMessage jobs" in any second

    Examples:
      | variant |
      | broken  |
      | mended  |
