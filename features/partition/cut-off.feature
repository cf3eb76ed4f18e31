@containers
Feature: A process that is cut off for a while loses and repeats nothing

  Nothing it sends arrives and nothing reaches it, without any answer. Its address and its
  connections outlive the cut.

  Scenario Outline: the <process> is cut off with work to do
    Given the messages M1 to M5
    And the <process> is held at <stage> of M1 once
    When M1 is submitted
    And M1 has passed <stage>
    And the <process> is cut off from everything
    And M2 to M5 are submitted
    And the held <process> goes on
    And the <process> is reached again
    Then the totals are
      | completed        | 5 |
      | quarantined      | 0 |
      | left in queue    | 0 |
      | outside requests | 5 |

    Examples:
      | process   | stage      |
      | worker    | processing |
      | publisher | sending    |
