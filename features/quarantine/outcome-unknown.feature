Feature: An outside write whose outcome is unknown is never repeated

  A worker that dies after its request to the outside service left, and before it
  recorded the answer, cannot know whether the write was done. Nobody may repeat it
  but a person who looked.

  Background:
    Given the messages M1 to M5

  Scenario: the worker is killed after the outside request of M3 left
    Given the worker is killed at outside-sent of M3 the first time
    When all messages are submitted
    Then the totals are
      | attempts started              | 5 |
      | completed                     | 4 |
      | quarantined (outcome unknown) | 1 |
      | quarantined (attempt limit)   | 0 |
      | left in queue                 | 0 |
      | outside requests              | 5 |
    And M3 has 1 outside requests
    And M3 ended as quarantined
    And the label of M3 is "outcome unknown"
    When the worker is restarted
    And the worker is restarted
    Then the totals are
      | attempts started              | 5 |
      | completed                     | 4 |
      | quarantined (outcome unknown) | 1 |
      | outside requests              | 5 |
    And M3 has 1 outside requests

  Scenario: the worker is killed before the outside request of M3 left
    Given the worker is killed at outside-intended of M3 the first time
    When all messages are submitted
    Then the totals are
      | attempts started              | 5 |
      | completed                     | 4 |
      | quarantined (outcome unknown) | 1 |
      | left in queue                 | 0 |
      | outside requests              | 4 |
    And M3 has 0 outside requests
