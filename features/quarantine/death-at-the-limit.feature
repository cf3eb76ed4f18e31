Feature: Deaths on the last attempt

  Three attempts, four receives, and never a fourth attempt, whatever dies during the hand-over.

  Scenario: everything goes down after the last attempt and comes up again
    Given the message M1
    And the worker is killed at processing of M1 every time
    When M1 is submitted
    And M1 has passed processing 3 times
    And the worker is stopped
    And the publisher is stopped
    And the api is stopped
    And the api is started
    And the publisher is started
    And the worker is started
    Then the totals are
      | attempts started            | 3 |
      | attempts counted            | 3 |
      | quarantined (attempt limit) | 1 |
      | quarantined                 | 1 |
      | completed                   | 0 |
      | left in queue               | 0 |
      | outside requests            | 0 |

  Scenario Outline: the worker dies once more when quarantine is <dies when>
    Given the message M1
    And the worker is killed at processing of M1 every time
    And the worker is killed at <stage> of M1 once
    When M1 is submitted
    Then the totals are
      | attempts started            | 3 |
      | attempts counted            | 3 |
      | quarantined (attempt limit) | 1 |
      | quarantined                 | 1 |
      | left in queue               | 0 |
      | outside requests            | 0 |
    And M1 was received 5 times
    And the worker was killed 4 times

    Examples:
      | dies when | stage        |
      | decided   | stepped-back |
      | written   | quarantined  |
