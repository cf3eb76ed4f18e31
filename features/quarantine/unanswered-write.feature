Feature: The write happened and the reply did not

  What the outside service did is not known. It is never asked again by itself: a person looks first.

  Scenario Outline: the outside service <does what>
    Given the message M1
    And the outside timeout is 500ms
    And the outside <does what>
      | only  | POST /notifications |
      | until | quarantined of M1   |
    When M1 is submitted
    Then the totals are
      | attempts started              | 1           |
      | completed                     | 0           |
      | quarantined (outcome unknown) | 1           |
      | quarantined                   | 1           |
      | left in queue                 | 0           |
      | outside requests              | <performed> |
    And outside-asked was passed 1 time
    When the worker is restarted
    And the worker is killed
    Then the totals are
      | attempts started              | 1           |
      | quarantined (outcome unknown) | 1           |
      | quarantined                   | 1           |
      | left in queue                 | 0           |
      | outside requests              | <performed> |
    And outside-asked was passed 1 time

    Examples:
      | does what                 | performed |
      | performs and closes       | 1         |
      | performs and answers 502  | 1         |
      | performs and hangs        | 1         |
      | swallows everything       | 0         |
      | resets connections        | 0         |
