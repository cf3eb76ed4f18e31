Feature: An order whose price list has no end

  Five orders wait for one packer. Pricing the third one costs the packer its life each
  time. The order is set aside when the desk's patience is over; all others are invoiced,
  and nobody has to come and help.

  Scenario Outline: it is set aside when patience is over
    Given the patience is <patience>
    And the messages M1 to M5
    And M3 carries an endless content
    When all messages are submitted
    Then the totals are
      | tries begun                 | <begun>    |
      | tries held against an order | <patience> |
      | invoices                    | 4          |
      | set aside (too many tries)  | 1          |
      | left in queue               | 0          |
      | dead letters                | 0          |
      | outside requests            | 4          |
    And the packer died <patience> times by itself
    And M3 was received <deliveries> times
    And M1, M2, M4 and M5 ended as invoiced
    And M3 ended as set aside
    And the tries on record of M3 is <patience>
    And the furthest point of M3 is "pricing"
    And the article set aside of M3 is exactly its content
    And the note set aside of M3 is exactly what the queue delivered
    And the state of M3 is "set aside"

    Examples:
      | patience | begun | deliveries |
      | 3        | 7     | 4          |
      | 5        | 9     | 6          |
      | 1        | 5     | 2          |
