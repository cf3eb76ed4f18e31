"""Redrive and message move tasks."""

import time

from kit import check, demand, equal


def fail_times(k, url, times):
    """Receives the one message that often, giving it back each time."""
    for _ in range(times):
        k.one(url, VisibilityTimeout=0)


@check("dead letters", core=True)
def moved_on_the_receive_after_the_last(k):
    """A message is received maxReceiveCount times; the next receive moves it."""
    url, dead = k.with_dead_letters(2)
    k.send(url)
    fail_times(k, url, 2)
    equal(k.counts(dead)[0], 0, "dead letters before")
    equal(k.receive(url), [], "messages of the receive after")
    equal(k.counts(dead)[0], 1, "dead letters after")
    equal(k.counts(url), (0, 0, 0), "counts of the source")


@check("dead letters", core=True)
def a_dead_letter_is_the_same_message(k):
    """Id, body, attributes and sent time are kept."""
    url, dead = k.with_dead_letters(1)
    value = {"a": {"DataType": "Number", "StringValue": "7"}}
    sent = k.send(url, "the body", MessageAttributes=value)
    first = k.one(url, AttributeNames=["All"], VisibilityTimeout=0)
    time.sleep(0.05)
    k.receive(url)
    letter = k.one(dead, AttributeNames=["All"], MessageAttributeNames=["All"])
    equal(letter["MessageId"], sent["MessageId"], "id")
    equal(letter["Body"], "the body", "body")
    equal(letter.get("MessageAttributes"), value, "attributes")
    equal(letter["Attributes"]["SentTimestamp"], first["Attributes"]["SentTimestamp"], "sent time")


@check("dead letters")
def a_dead_letter_names_its_source(k):
    """DeadLetterQueueSourceArn is set."""
    url, dead = k.with_dead_letters(1)
    k.send(url)
    fail_times(k, url, 1)
    k.receive(url)
    letter = k.one(dead, AttributeNames=["DeadLetterQueueSourceArn"])
    equal(letter.get("Attributes", {}).get("DeadLetterQueueSourceArn"), k.arn(url), "source")


@check("dead letters", core=True)
def others_are_not_blocked(k):
    """The receive that moves a dead letter still delivers the others."""
    url, dead = k.with_dead_letters(1)
    k.send(url, "poison")
    fail_times(k, url, 1)
    k.send(url, "good")
    equal([m["Body"] for m in k.receive(url)], ["good"], "bodies")
    equal(k.counts(dead)[0], 1, "dead letters")


@check("dead letters")
def a_time_out_counts_as_a_receive(k):
    """Receives count also when the message was only let go by its time-out."""
    url, dead = k.with_dead_letters(1)
    k.send(url)
    k.one(url, VisibilityTimeout=1)
    time.sleep(1.1)
    equal(k.receive(url), [], "messages")
    equal(k.counts(dead)[0], 1, "dead letters")


@check("dead letters")
def sources_are_listed(k):
    """ListDeadLetterSourceQueues gives the queues that name this one, in pages."""
    first, dead = k.with_dead_letters(3)
    policy = k.attributes(first)["RedrivePolicy"]
    urls = sorted([first, k.queue(RedrivePolicy=policy), k.queue(RedrivePolicy=policy)])
    got = k.sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"]
    equal(sorted(got), urls, "URLs")
    page = k.sqs.list_dead_letter_source_queues(QueueUrl=dead, MaxResults=2)
    rest = k.sqs.list_dead_letter_source_queues(
        QueueUrl=dead, MaxResults=2, NextToken=page["NextToken"]
    )
    equal(sorted(page["queueUrls"] + rest["queueUrls"]), urls, "URLs of the pages")


def bury(k, url, count):
    for n in range(count):
        k.send(url, str(n))
    k.receive(url, VisibilityTimeout=0)
    equal(k.receive(url), [], "messages")


@check("move tasks")
def back_to_the_source(k):
    """A move task without destination takes dead letters back to where they came from."""
    url, dead = k.with_dead_letters(1)
    bury(k, url, 3)
    k.sqs.start_message_move_task(SourceArn=k.arn(dead))
    until = time.monotonic() + 5
    while k.counts(url)[0] < 3 and time.monotonic() < until:
        time.sleep(0.1)
    equal(sorted(m["Body"] for m in k.receive(url)), ["0", "1", "2"], "bodies")
    equal(k.counts(dead), (0, 0, 0), "counts of the dead-letter queue")


@check("move tasks")
def to_an_explicit_destination(k):
    """A move task with a destination takes dead letters there."""
    url, dead = k.with_dead_letters(1)
    other = k.queue()
    bury(k, url, 2)
    k.sqs.start_message_move_task(SourceArn=k.arn(dead), DestinationArn=k.arn(other))
    until = time.monotonic() + 5
    while k.counts(other)[0] < 2 and time.monotonic() < until:
        time.sleep(0.1)
    equal(k.counts(other)[0], 2, "messages")


@check("move tasks")
def tasks_are_listed(k):
    """ListMessageMoveTasks tells how a task went."""
    url, dead = k.with_dead_letters(1)
    bury(k, url, 2)
    arn = k.arn(dead)
    k.sqs.start_message_move_task(SourceArn=arn)
    until = time.monotonic() + 5
    while True:
        task = k.sqs.list_message_move_tasks(SourceArn=arn)["Results"][0]
        if task["Status"] != "RUNNING" or time.monotonic() > until:
            break
        time.sleep(0.1)
    equal(task["Status"], "COMPLETED", "status")
    equal(task["ApproximateNumberOfMessagesMoved"], 2, "moved")
    equal(task["SourceArn"], arn, "source")
    demand("TaskHandle" not in task, "an ended task has a handle")


@check("move tasks")
def a_running_task_can_be_cancelled(k):
    """A slow task can be cancelled, and a second one is refused while it runs."""
    url, dead = k.with_dead_letters(1)
    bury(k, url, 5)
    arn = k.arn(dead)
    handle = k.sqs.start_message_move_task(SourceArn=arn, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    k.refused(lambda: k.sqs.start_message_move_task(SourceArn=arn))
    k.sqs.cancel_message_move_task(TaskHandle=handle)
    time.sleep(1.2)
    demand(k.counts(dead)[0] >= 3, "it went on")
    k.refused(lambda: k.sqs.cancel_message_move_task(TaskHandle="garbage"), "ResourceNotFoundException")


@check("move tasks")
def the_source_must_be_a_dead_letter_queue(k):
    """A move task from an ordinary or a missing queue is refused."""
    arn = k.arn(k.queue())
    k.refused(lambda: k.sqs.start_message_move_task(SourceArn=arn), "InvalidParameterValue")
    k.refused(
        lambda: k.sqs.start_message_move_task(SourceArn=arn + "-missing"), "ResourceNotFoundException"
    )
