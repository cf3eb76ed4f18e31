Feature: Five messages, one of which kills its worker

  Five documents wait, one worker takes one at a time. The third cannot be survived.
  It must be put aside after its attempts, and the others must not wait for a person.

  Scenario Outline: poison is put aside at the attempt limit
    Given the messages M1 to M5
    And M3 is poison
    And the attempt limit is <limit>
    When all messages are submitted
    Then the totals are
      | attempts started            | <started>  |
      | attempts counted            | <limit>    |
      | completed                   | 4          |
      | quarantined (attempt limit) | 1          |
      | left in queue               | 0          |
      | dead letters                | 0          |
      | outside requests            | 4          |
    And M3 was received <receives> times
    And paused was passed 0 times
    And the worker died <limit> times by itself
    And M1, M2, M4 and M5 ended as completed
    And M3 ended as quarantined
    And the attempts in quarantine of M3 is <limit>
    And the last stage of M3 is "processing"
    And the stored content of M3 is exactly its content
    And the stored body of M3 is exactly what the queue delivered

    Examples:
      | limit | started | receives |
      | 3     | 7       | 4        |
      | 5     | 9       | 6        |
      | 1     | 5       | 2        |

  Scenario: a harmless message whose worker is killed each time ends the same way
    Given the messages M1 to M5
    And the worker is killed at processing of M3 every time
    When all messages are submitted
    Then the totals are
      | attempts started            | 7 |
      | attempts counted            | 3 |
      | completed                   | 4 |
      | quarantined (attempt limit) | 1 |
      | left in queue               | 0 |
      | outside requests            | 4 |
    And M3 was received 4 times
    And the worker was killed 3 times
    And M4 and M5 ended as completed
