"""FIFO queues: order within a group, deduplication, and what only they refuse."""

import hashlib
import json

from kit import check, demand, equal


def fifo(k, **attributes):
    return k.queue(k.name() + ".fifo", FifoQueue="true", **attributes)


def send(k, url, group, body, **more):
    more.setdefault("MessageDeduplicationId", body)
    return k.send(url, body, MessageGroupId=group, **more)


def bodies(messages):
    return [message["Body"] for message in messages]


@check("fifo")
def it_is_one_by_name_and_attribute(k):
    """A FIFO queue has a name in .fifo and FifoQueue=true, and keeps both."""
    url = fifo(k)
    equal(k.attributes(url, "FifoQueue"), {"FifoQueue": "true"}, "attributes")
    equal(k.attributes(url)["ContentBasedDeduplication"], "false", "default")
    k.refused(lambda: k.queue(k.name(), FifoQueue="true"), "InvalidParameterValue")
    k.refused(lambda: k.queue(k.name() + ".fifo"), "InvalidParameterValue")
    standard = k.queue()
    demand("FifoQueue" not in k.attributes(standard), "a standard queue says that it is none")
    k.refused(lambda: k.queue(ContentBasedDeduplication="true"), "InvalidAttributeName")


@check("fifo", core=True)
def order_within_a_group(k):
    """A receive takes messages of a group in order, and one in flight holds the group up."""
    url = fifo(k)
    for body in ("a", "b", "c"):
        send(k, url, "g", body)
    first = k.receive(url, MaxNumberOfMessages=2)
    equal(bodies(first), ["a", "b"], "first receive")
    equal(k.receive(url), [], "received while the group is held up")
    k.delete(url, first[0])
    equal(k.receive(url), [], "received while `b` is in flight")
    k.delete(url, first[1])
    equal(bodies(k.receive(url)), ["c"], "afterwards")


@check("fifo", core=True)
def groups_are_independent(k):
    """A group that is held up holds no other up."""
    url = fifo(k)
    for group, body in (("g", "g1"), ("h", "h1"), ("g", "g2")):
        send(k, url, group, body)
    equal(bodies(k.receive(url, MaxNumberOfMessages=1)), ["g1"], "first")
    equal(bodies(k.receive(url)), ["h1"], "second")


@check("fifo")
def what_comes_back_keeps_its_place(k):
    """A message whose visibility was ended is received before those after it."""
    url = fifo(k)
    for body in ("a", "b"):
        send(k, url, "g", body)
    first = k.one(url, MaxNumberOfMessages=1)
    k.sqs.change_message_visibility(
        QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0
    )
    equal(bodies(k.receive(url)), ["a", "b"], "received")


@check("fifo", core=True)
def the_same_id_is_taken_in_once(k):
    """A second send with the same deduplication id succeeds and delivers nothing."""
    url = fifo(k)
    one = send(k, url, "g", "a", MessageDeduplicationId="id")
    two = send(k, url, "g", "b", MessageDeduplicationId="id")
    equal(two["MessageId"], one["MessageId"], "MessageId")
    equal(two["SequenceNumber"], one["SequenceNumber"], "SequenceNumber")
    equal(bodies(k.receive(url)), ["a"], "received")


@check("fifo")
def the_body_may_be_the_id(k):
    """With ContentBasedDeduplication the id is the SHA-256 of the body."""
    url = fifo(k, ContentBasedDeduplication="true")
    for _ in range(2):
        k.send(url, "same", MessageGroupId="g")
    got = k.one(url, AttributeNames=["All"])
    digest = hashlib.sha256(b"same").hexdigest()
    equal(got["Attributes"]["MessageDeduplicationId"], digest, "id")


@check("fifo")
def ids_count_in_their_scope(k):
    """With DeduplicationScope messageGroup an id counts within its group."""
    url = fifo(k, DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    for group in ("g", "h", "g"):
        send(k, url, group, group, MessageDeduplicationId="id")
    equal(sorted(bodies(k.receive(url))), ["g", "h"], "received")
    k.refused(lambda: fifo(k, FifoThroughputLimit="perMessageGroupId"))


@check("fifo")
def a_message_shows_its_place(k):
    """A delivery shows group, deduplication id and a sequence number that grows."""
    url = fifo(k)
    sent = [send(k, url, "g", body)["SequenceNumber"] for body in ("a", "b")]
    got = k.receive(url, AttributeNames=["All"])
    equal([m["Attributes"]["SequenceNumber"] for m in got], sent, "sequence numbers")
    demand(int(sent[0]) < int(sent[1]), "they do not grow")
    equal(got[0]["Attributes"]["MessageGroupId"], "g", "group")
    equal(got[0]["Attributes"]["MessageDeduplicationId"], "a", "id")


@check("fifo")
def what_a_send_needs(k):
    """Without a group, without an id, or with a delay of its own a message is refused."""
    url = fifo(k)
    k.refused(lambda: k.send(url, "x", MessageDeduplicationId="x"), "MissingParameter")
    k.refused(lambda: k.send(url, "x", MessageGroupId="g"), "InvalidParameterValue")
    k.refused(lambda: send(k, url, "g", "x", DelaySeconds=1), "InvalidParameterValue")
    k.refused(lambda: send(k, url, "g" * 129, "x"), "InvalidParameterValue")
    k.refused(lambda: send(k, url, "g", "x", MessageDeduplicationId="ü"), "InvalidParameterValue")
    k.refused(lambda: k.send(k.queue(), "x", MessageDeduplicationId="x"), "InvalidParameterValue")


@check("fifo")
def a_batch_has_one_order(k):
    """Entries of a batch stand in their order, and each fails for itself."""
    url = fifo(k)
    entries = [
        {"Id": "1", "MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "a"},
        {"Id": "2", "MessageBody": "b", "MessageDeduplicationId": "b"},
        {"Id": "3", "MessageBody": "c", "MessageGroupId": "g", "MessageDeduplicationId": "c"},
    ]
    reply = k.sqs.send_message_batch(QueueUrl=url, Entries=entries)
    equal([entry["Id"] for entry in reply["Failed"]], ["2"], "failed")
    demand("SequenceNumber" in reply["Successful"][0], "no sequence number")
    equal(bodies(k.receive(url)), ["a", "c"], "received")


@check("fifo")
def a_handle_whose_time_is_over(k):
    """It deletes nothing, and the call fails."""
    url = fifo(k)
    send(k, url, "g", "a")
    got = k.one(url, VisibilityTimeout=0)
    k.refused(lambda: k.delete(url, got), "InvalidParameterValue")
    equal(bodies(k.receive(url)), ["a"], "received again")


@check("fifo")
def the_same_attempt(k):
    """Two receives with the same attempt id get the same deliveries."""
    url = fifo(k)
    send(k, url, "g", "a")
    one = k.one(url, ReceiveRequestAttemptId="try")
    two = k.one(url, ReceiveRequestAttemptId="try")
    equal(two["ReceiptHandle"], one["ReceiptHandle"], "handle")


@check("fifo")
def dead_letters_stay_in_their_type(k):
    """The dead-letter queue of a FIFO queue is one, and of a standard queue is none."""
    policy = lambda url: json.dumps({"deadLetterTargetArn": k.arn(url), "maxReceiveCount": 1})
    k.refused(lambda: fifo(k, RedrivePolicy=policy(k.queue())), "InvalidParameterValue")
    k.refused(lambda: k.queue(RedrivePolicy=policy(fifo(k))), "InvalidParameterValue")
    dead = fifo(k)
    url = fifo(k, RedrivePolicy=policy(dead))
    send(k, url, "g", "poison")
    send(k, url, "g", "next")
    got = k.one(url, MaxNumberOfMessages=1, VisibilityTimeout=0)
    equal(got["Body"], "poison", "first")
    equal(bodies(k.receive(url)), ["next"], "the group goes on")
    equal(bodies(k.receive(dead)), ["poison"], "dead letters")
