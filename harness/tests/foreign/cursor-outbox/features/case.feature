Feature: Rows that are committed out of order

  Scenario Outline: M1 is numbered first and committed last (<variant>)
    Given the variant is <variant>
    And the messages M1 to M2
    And the api is held at recording of M1 once
    When the client submits M1 and gets no answer
    And M2 is submitted
    And M2 has passed sent
    And the held api goes on
    And the client submits M1 again
    Then the totals are
      | completed        | 2 |
      | left in queue    | 0 |
      | outside requests | 2 |

    Examples:
      | variant |
      | broken  |
      | mended  |
