"""ReceiveMessage, visibility, deletion."""

import concurrent.futures
import json
import socket
import time
from urllib.parse import urlparse

from kit import check, demand, equal, timed

SHOWN_ALWAYS = {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}


@check("receiving", core=True)
def at_most_as_many_as_asked(k):
    """One message by default, at most ten, never more than asked."""
    url = k.queue()
    for n in range(12):
        k.send(url, str(n))
    equal(len(k.sqs.receive_message(QueueUrl=url)["Messages"]), 1, "default")
    demand(len(k.receive(url, MaxNumberOfMessages=3)) <= 3, "more than asked")
    demand(len(k.receive(url, MaxNumberOfMessages=10)) <= 10, "more than asked")


@check("receiving")
def number_range(k):
    """MaxNumberOfMessages is from 1 to 10."""
    url = k.queue()
    for bad in (0, 11):
        k.refused(
            lambda: k.receive(url, MaxNumberOfMessages=bad), "InvalidParameterValue", "ReadCountOutOfRange"
        )


@check("receiving")
def wait_range(k):
    """WaitTimeSeconds is from 0 to 20."""
    url = k.queue()
    for bad in (-1, 21):
        k.refused(lambda: k.receive(url, WaitTimeSeconds=bad), "InvalidParameterValue")


@check("receiving")
def visibility_range(k):
    """VisibilityTimeout is from 0 to 43,200 seconds."""
    url = k.queue()
    for bad in (-1, 43201):
        k.refused(lambda: k.receive(url, VisibilityTimeout=bad), "InvalidParameterValue")


@check("receiving", core=True)
def empty_queue(k):
    """A short poll of an empty queue returns at once, with nothing."""
    url = k.queue()
    reply, took = timed(lambda: k.sqs.receive_message(QueueUrl=url))
    demand(not reply.get("Messages"), "there are messages")
    demand(took < 1, f"it took {took:.1f} s")


@check("long polls", core=True)
def long_poll_ends_on_a_send(k):
    """A long poll returns when a message is sent."""
    url = k.queue()
    k.later(0.5, lambda: k.send(url, "late"))
    got, took = timed(lambda: k.receive(url, WaitTimeSeconds=10))
    equal([m["Body"] for m in got], ["late"], "bodies")
    demand(0.3 < took < 2, f"it took {took:.1f} s")


@check("long polls", core=True)
def long_poll_ends_at_its_time_out(k):
    """A long poll of an empty queue returns nothing after its time."""
    url = k.queue()
    got, took = timed(lambda: k.receive(url, WaitTimeSeconds=1))
    equal(got, [], "messages")
    demand(0.95 < took < 2, f"it took {took:.1f} s")


@check("long polls")
def long_poll_ends_when_a_delay_ends(k):
    """A long poll returns when a delayed message becomes visible."""
    url = k.queue()
    k.send(url, DelaySeconds=1)
    got, took = timed(lambda: k.receive(url, WaitTimeSeconds=10))
    equal(len(got), 1, "messages")
    demand(took < 3, f"it took {took:.1f} s")


@check("long polls", core=True)
def long_poll_ends_when_a_visibility_ends(k):
    """A long poll returns when a message in flight becomes visible again."""
    url = k.queue()
    k.send(url)
    k.one(url, VisibilityTimeout=1)
    got, took = timed(lambda: k.receive(url, WaitTimeSeconds=10))
    equal(len(got), 1, "messages")
    demand(took < 3, f"it took {took:.1f} s")


@check("long polls")
def long_poll_ends_when_a_visibility_is_set_to_zero(k):
    """A long poll returns when another consumer gives a message back."""
    url = k.queue()
    k.send(url)
    handle = k.one(url)["ReceiptHandle"]
    k.later(
        0.5,
        lambda: k.sqs.change_message_visibility(
            QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0
        ),
    )
    got, took = timed(lambda: k.receive(url, WaitTimeSeconds=10))
    equal(len(got), 1, "messages")
    demand(took < 3, f"it took {took:.1f} s")


@check("long polls")
def wait_time_of_the_queue(k):
    """ReceiveMessageWaitTimeSeconds holds for receives that say nothing, and 0 overrides it."""
    url = k.queue(ReceiveMessageWaitTimeSeconds=1)
    _, took = timed(lambda: k.receive(url))
    demand(took > 0.95, f"it took {took:.1f} s")
    _, took = timed(lambda: k.receive(url, WaitTimeSeconds=0))
    demand(took < 0.9, f"it took {took:.1f} s")


@check("long polls", core=True)
def abandoned_long_poll_takes_nothing(k):
    """A client that goes away during a long poll takes no message with it."""
    url = k.queue()
    where = urlparse(k.endpoint)
    body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 10})
    request = (
        f"POST / HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        "Authorization: AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0\r\n"
        f"X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    )
    for _ in range(5):
        with socket.create_connection((where.hostname, where.port)) as connection:
            connection.sendall(request.encode())
            time.sleep(0.1)
    time.sleep(0.2)
    k.send(url)
    equal(len(k.receive(url)), 1, "messages")


@check("long polls")
def one_send_wakes_one_of_many(k):
    """Of several long polls each sent message reaches exactly one."""
    url = k.queue()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        polls = [pool.submit(k.receive, url, WaitTimeSeconds=2, MaxNumberOfMessages=1) for _ in range(4)]
        time.sleep(0.3)
        sent = {k.send(url, str(n))["MessageId"] for n in range(4)}
        got = [m["MessageId"] for poll in polls for m in poll.result()]
    equal(sorted(got), sorted(sent), "ids")


@check("receiving", core=True)
def attributes_only_when_asked(k):
    """Without asking, a message shows neither kind of attribute."""
    url = k.queue()
    k.send(url, MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}})
    equal(set(k.one(url)), SHOWN_ALWAYS, "members")


@check("receiving")
def attributes_by_name_and_prefix(k):
    """Attributes come by name and by prefix.*, and the MD5 is over those that came."""
    from check_sending import attributes_md5

    url = k.queue()
    value = {"DataType": "String", "StringValue": "x"}
    k.send(url, MessageAttributes={name: value for name in ("a", "b.one", "b.two", "c")})
    for asked, expected in (
        (["a"], ["a"]),
        (["b.*"], ["b.one", "b.two"]),
        (["a", "b.*"], ["a", "b.one", "b.two"]),
        ([".*"], ["a", "b.one", "b.two", "c"]),
        (["none"], []),
    ):
        got = k.one(url, MessageAttributeNames=asked, VisibilityTimeout=0)
        shown = got.get("MessageAttributes", {})
        equal(sorted(shown), expected, f"attributes for {asked}")
        expected_sum = attributes_md5(shown) if shown else None
        equal(got.get("MD5OfMessageAttributes"), expected_sum, f"MD5 for {asked}")


@check("receiving", core=True)
def counts_and_times(k):
    """Receive count, sent time and first receive time are true."""
    url = k.queue()
    before = time.time() * 1000 - 1
    k.send(url)
    first = k.one(url, AttributeNames=["All"], VisibilityTimeout=0)["Attributes"]
    time.sleep(0.1)
    second = k.one(url, AttributeNames=["All"])["Attributes"]
    equal((first["ApproximateReceiveCount"], second["ApproximateReceiveCount"]), ("1", "2"), "counts")
    for name in ("SentTimestamp", "ApproximateFirstReceiveTimestamp"):
        equal(second[name], first[name], name)
        demand(before <= int(first[name]) <= time.time() * 1000 + 1, f"{name} {first[name]}")
    demand("SenderId" in first, "no SenderId")


@check("receiving")
def the_newer_name_of_the_parameter(k):
    """MessageSystemAttributeNames does what AttributeNames does."""
    url = k.queue()
    k.send(url)
    got = k.one(url, MessageSystemAttributeNames=["SentTimestamp"])
    equal(list(got.get("Attributes", {})), ["SentTimestamp"], "attributes")


@check("receiving")
def unknown_system_attribute_is_refused(k):
    """A system attribute that does not exist is refused."""
    url = k.queue()
    k.refused(lambda: k.receive(url, AttributeNames=["Nonsense"]), "InvalidAttributeName")


@check("receiving", core=True)
def a_new_handle_each_time(k):
    """Each receive gives another receipt handle for the same message."""
    url = k.queue()
    k.send(url)
    got = [k.one(url, VisibilityTimeout=0) for _ in range(3)]
    equal(len({m["ReceiptHandle"] for m in got}), 3, "handles")
    equal(len({m["MessageId"] for m in got}), 1, "ids")


@check("visibility", core=True)
def never_twice_within_the_visibility(k):
    """Eight consumers at once never get one message twice within its visibility."""
    url = k.queue()
    for start in range(0, 200, 10):
        batch = [{"Id": str(n), "MessageBody": str(start + n)} for n in range(10)]
        k.sqs.send_message_batch(QueueUrl=url, Entries=batch)

    def drain():
        got = []
        while messages := k.receive(url):
            got += [m["MessageId"] for m in messages]
        return got

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ids = [i for run in [pool.submit(drain) for _ in range(8)] for i in run.result()]
    equal((len(ids), len(set(ids))), (200, 200), "deliveries and messages")


@check("visibility", core=True)
def visibility_of_the_receive(k):
    """A message stays hidden as long as the receive asked, and comes back after."""
    url = k.queue()
    k.send(url)
    k.one(url, VisibilityTimeout=1)
    start = time.monotonic()
    equal(k.receive(url), [], "messages")
    equal(len(k.soon(url)), 1, "messages")
    demand(time.monotonic() - start > 0.8, "it came back too early")


@check("visibility", core=True)
def visibility_of_the_queue(k):
    """Without its own, a receive uses the visibility of the queue."""
    url = k.queue(VisibilityTimeout=1)
    k.send(url)
    k.one(url)
    equal(k.receive(url), [], "messages")
    equal(len(k.soon(url)), 1, "messages")


@check("visibility")
def visibility_zero(k):
    """A receive with visibility 0 leaves the message visible, and its handle good."""
    url = k.queue()
    k.send(url)
    message = k.one(url, VisibilityTimeout=0)
    equal(k.counts(url), (1, 0, 0), "counts")
    k.delete(url, message)
    equal(k.counts(url), (0, 0, 0), "counts")


@check("visibility", core=True)
def change_to_zero(k):
    """ChangeMessageVisibility 0 makes a message visible at once."""
    url = k.queue()
    k.send(url)
    handle = k.one(url)["ReceiptHandle"]
    k.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
    k.one(url)


@check("visibility", core=True)
def change_counts_from_now(k):
    """ChangeMessageVisibility counts from the call, not from the receive."""
    url = k.queue()
    k.send(url)
    handle = k.one(url, VisibilityTimeout=2)["ReceiptHandle"]
    time.sleep(1)
    k.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=2)
    time.sleep(1.5)
    equal(k.receive(url), [], "messages")
    equal(len(k.soon(url)), 1, "messages")


@check("visibility")
def change_range(k):
    """A new visibility is from 0 to 43,200 seconds."""
    url = k.queue()
    k.send(url)
    handle = k.one(url)["ReceiptHandle"]
    for bad in (-1, 43201):
        k.refused(
            lambda: k.sqs.change_message_visibility(
                QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=bad
            ),
            "InvalidParameterValue",
        )


@check("visibility")
def twelve_hours_in_all(k):
    """The whole time in flight is at most 12 hours, from the receive."""
    url = k.queue()
    k.send(url)
    handle = k.one(url)["ReceiptHandle"]
    time.sleep(1.1)
    k.refused(
        lambda: k.sqs.change_message_visibility(
            QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=43200
        ),
        "InvalidParameterValue",
    )


@check("visibility")
def change_with_garbage(k):
    """A handle that is none is refused."""
    url = k.queue()
    k.refused(
        lambda: k.sqs.change_message_visibility(
            QueueUrl=url, ReceiptHandle="garbage", VisibilityTimeout=1
        ),
        "ReceiptHandleIsInvalid",
    )


@check("visibility")
def change_of_a_deleted_message(k):
    """The visibility of a deleted message cannot be changed."""
    url = k.queue()
    k.send(url)
    message = k.one(url)
    k.delete(url, message)
    k.refused(
        lambda: k.sqs.change_message_visibility(
            QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=1
        ),
        "InvalidParameterValue",
        "ReceiptHandleIsInvalid",
        "MessageNotInflight",
    )


@check("visibility")
def change_of_a_message_that_is_not_in_flight(k):
    """The visibility of a message that is visible cannot be changed."""
    url = k.queue()
    k.send(url)
    handle = k.one(url, VisibilityTimeout=0)["ReceiptHandle"]
    k.refused(
        lambda: k.sqs.change_message_visibility(
            QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=1
        ),
        "MessageNotInflight",
    )


@check("deletion", core=True)
def delete_and_again(k):
    """A deleted message is gone; deleting it again is no error."""
    url = k.queue()
    k.send(url)
    message = k.one(url)
    k.delete(url, message)
    k.delete(url, message)
    equal(k.counts(url), (0, 0, 0), "counts")


@check("deletion")
def delete_with_garbage(k):
    """A handle that is none is refused."""
    url = k.queue()
    k.refused(
        lambda: k.sqs.delete_message(QueueUrl=url, ReceiptHandle="garbage"), "ReceiptHandleIsInvalid"
    )


@check("deletion", core=True)
def delete_after_the_time_out(k):
    """The last handle still deletes after its visibility has ended."""
    url = k.queue()
    k.send(url)
    message = k.one(url, VisibilityTimeout=1)
    time.sleep(1.2)
    k.delete(url, message)
    equal(k.receive(url), [], "messages")
    equal(k.counts(url), (0, 0, 0), "counts")


@check("deletion")
def delete_by_an_old_handle(k):
    """After another delivery an old handle is accepted and does not delete."""
    url = k.queue()
    k.send(url)
    old = k.one(url, VisibilityTimeout=0)
    k.one(url)
    k.delete(url, old)
    equal(k.counts(url), (0, 1, 0), "counts")


@check("counts", core=True)
def three_counts(k):
    """Visible, in flight and delayed messages are counted apart."""
    url = k.queue()
    for _ in range(3):
        k.send(url)
    k.send(url, DelaySeconds=60)
    k.receive(url, MaxNumberOfMessages=1)
    equal(k.counts(url), (2, 1, 1), "counts")


@check("counts", slow=True)
def retention(k):
    """A message is dropped after its retention."""
    url = k.queue(MessageRetentionPeriod=60)
    k.send(url)
    time.sleep(61.5)
    equal(k.receive(url), [], "messages")
    equal(k.counts(url), (0, 0, 0), "counts")
