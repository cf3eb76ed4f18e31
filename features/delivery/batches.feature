Feature: A row that is refused condemns nobody

  The queue may refuse a batch as a whole for what one of its rows is. It is halved until that row
  stands alone.

  Scenario Outline: one row for which the queue refuses its batch with <code>
    Given the messages M1 to M5
    And the publish batch is 5
    And the system is running
    When the publisher is stopped
    And all messages are submitted
    And the publisher is refused with <code> at accepted of M3 every time
    And the publisher is started
    Then the totals are
      | attempts started | 4 |
      | completed        | 4 |
      | unsendable       | 1 |
      | left in queue    | 0 |
      | outside requests | 4 |
    And M1, M2, M4 and M5 were sent 1 time
    And M3 was sent 0 times
    And the client state of M3 is "pending"

    Examples:
      | code                   |
      | InvalidMessageContents |
      | BatchRequestTooLong    |
