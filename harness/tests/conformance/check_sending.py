"""SendMessage and SendMessageBatch."""

import base64
import hashlib
import struct
import time

from kit import check, demand, equal

MIB = 1048576


def md5(data):
    return hashlib.md5(data).hexdigest()


def attributes_md5(attributes):
    """As the developer guide describes it, from scratch."""
    buffer = b""
    for name in sorted(attributes):
        value = attributes[name]
        data_type = value["DataType"]
        binary = data_type.startswith("Binary")
        payload = value["BinaryValue"] if binary else value["StringValue"].encode()
        for part in (name.encode(), data_type.encode()):
            buffer += struct.pack(">I", len(part)) + part
        buffer += b"\x02" if binary else b"\x01"
        buffer += struct.pack(">I", len(payload)) + payload
    return md5(buffer)


ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "välue"},
    "number": {"DataType": "Number", "StringValue": "-12.50"},
    "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    "own.kind": {"DataType": "String.mine", "StringValue": "x"},
    "image": {"DataType": "Binary.png", "BinaryValue": b"\x89PNG"},
}


@check("sending", core=True)
def body_and_its_sum(k):
    """A body arrives as it was sent, with its MD5 at both ends."""
    url = k.queue()
    body = "Grüße \t\r\n <&\"'> \U0001f600 \ufffd"
    sent = k.send(url, body)
    equal(sent["MD5OfMessageBody"], md5(body.encode()), "MD5 of the send")
    got = k.one(url)
    equal(got["Body"], body, "body")
    equal(got["MD5OfBody"], md5(body.encode()), "MD5 of the receive")
    equal(got["MessageId"], sent["MessageId"], "id")


@check("sending", core=True)
def attributes_and_their_sum(k):
    """Attributes of every type arrive as sent, with their MD5 at both ends."""
    url = k.queue()
    sent = k.send(url, MessageAttributes=ATTRIBUTES)
    equal(sent.get("MD5OfMessageAttributes"), attributes_md5(ATTRIBUTES), "MD5 of the send")
    got = k.one(url, MessageAttributeNames=["All"])
    equal(got.get("MessageAttributes"), ATTRIBUTES, "attributes")
    equal(got.get("MD5OfMessageAttributes"), attributes_md5(ATTRIBUTES), "MD5 of the receive")


@check("sending")
def system_attributes_and_their_sum(k):
    """AWSTraceHeader is taken, has an MD5 and can be received."""
    url = k.queue()
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"
    system = {"AWSTraceHeader": {"DataType": "String", "StringValue": trace}}
    sent = k.send(url, MessageSystemAttributes=system)
    equal(sent.get("MD5OfMessageSystemAttributes"), attributes_md5(system), "MD5")
    demand("MD5OfMessageAttributes" not in sent, "it has an MD5 of attributes")
    got = k.one(url, AttributeNames=["AWSTraceHeader"])
    equal(got.get("Attributes"), {"AWSTraceHeader": trace}, "attributes")


@check("sending")
def unknown_system_attribute(k):
    """Any system attribute but AWSTraceHeader is refused."""
    url = k.queue()
    system = {"Nonsense": {"DataType": "String", "StringValue": "x"}}
    k.refused(lambda: k.send(url, MessageSystemAttributes=system))


@check("sending", core=True)
def empty_body(k):
    """An empty body is refused."""
    url = k.queue()
    k.refused(lambda: k.send(url, ""))


@check("sending")
def forbidden_characters(k):
    """Characters outside the documented set are refused, those at its edges taken."""
    url = k.queue()
    for bad in ("\x00", "\x08", "\x1f", "\ufffe", "\uffff"):
        k.refused(lambda: k.send(url, f"a{bad}b"), "InvalidMessageContents")
    k.send(url, "\t\n\r \ud7ff\ue000\ufffd\U00010000\U0010ffff")


@check("sending", core=True)
def the_largest_message(k):
    """1 MiB is taken, a byte more is not."""
    url = k.queue()
    k.send(url, "x" * MIB)
    equal(len(k.one(url)["Body"]), MIB, "length")
    k.refused(lambda: k.send(url, "x" * (MIB + 1)), "InvalidParameterValue")


@check("sending")
def size_counts_bytes(k):
    """Size is counted in bytes of UTF-8, not in characters."""
    url = k.queue(MaximumMessageSize=1024)
    k.send(url, "ü" * 512)
    k.refused(lambda: k.send(url, "ü" * 513), "InvalidParameterValue")


@check("sending")
def attributes_count_toward_the_size(k):
    """Name, type and value of each attribute count."""
    url = k.queue(MaximumMessageSize=1024)
    attribute = {"name": {"DataType": "String", "StringValue": "value"}}
    free = 1024 - len("name" + "String" + "value")
    k.send(url, "x" * free, MessageAttributes=attribute)
    k.refused(
        lambda: k.send(url, "x" * (free + 1), MessageAttributes=attribute), "InvalidParameterValue"
    )


@check("sending")
def the_queues_own_limit(k):
    """MaximumMessageSize of the queue holds."""
    url = k.queue(MaximumMessageSize=2048)
    k.send(url, "x" * 2048)
    k.refused(lambda: k.send(url, "x" * 2049), "InvalidParameterValue")


@check("sending")
def at_most_ten_attributes(k):
    """An eleventh attribute is refused."""
    url = k.queue()
    many = {f"a{n}": {"DataType": "String", "StringValue": "x"} for n in range(11)}
    k.refused(lambda: k.send(url, MessageAttributes=many), "InvalidParameterValue")


@check("sending")
def attribute_names(k):
    """Attribute names follow the documented rules."""
    url = k.queue()
    value = {"DataType": "String", "StringValue": "x"}
    k.send(url, MessageAttributes={"A-b_c.9": value})
    for bad in ("AWS.x", "amazon.x", ".a", "a.", "a..b", "a b", "x" * 257):
        k.refused(lambda: k.send(url, MessageAttributes={bad: value}), "InvalidParameterValue")


@check("sending")
def attribute_types_and_values(k):
    """Types are String, Number and Binary; values are not empty; numbers are numbers."""
    url = k.queue()
    for bad in (
        {"DataType": "Text", "StringValue": "x"},
        {"DataType": "String", "StringValue": ""},
        {"DataType": "Number", "StringValue": "one"},
        {"DataType": "String"},
        {"StringValue": "x"},
    ):
        k.refused(lambda: k.send(url, MessageAttributes={"a": bad}))


@check("sending", core=True)
def delay_of_a_message(k):
    """A delayed message is not received before its delay is over, and then is."""
    url = k.queue()
    start = time.monotonic()
    k.send(url, DelaySeconds=1)
    equal(k.receive(url), [], "messages")
    equal(k.counts(url), (0, 0, 1), "counts")
    got = k.soon(url)
    equal(len(got), 1, "messages")
    demand(time.monotonic() - start >= 0.99, "it came too early")


@check("sending")
def delay_of_the_queue(k):
    """DelaySeconds of the queue holds, and a message may override it with 0."""
    url = k.queue(DelaySeconds=2)
    k.send(url, "queue's")
    k.send(url, "none", DelaySeconds=0)
    equal([m["Body"] for m in k.receive(url)], ["none"], "bodies")
    equal([m["Body"] for m in k.soon(url)], ["queue's"], "bodies")


@check("sending")
def delay_range(k):
    """A delay is from 0 to 900 seconds."""
    url = k.queue()
    k.send(url, DelaySeconds=900)
    for bad in (-1, 901):
        k.refused(lambda: k.send(url, DelaySeconds=bad), "InvalidParameterValue")


def entries(count, **more):
    return [{"Id": f"e{n}", "MessageBody": f"body {n}", **more} for n in range(count)]


@check("batches", core=True)
def send_batch(k):
    """Ten entries are sent, each with its id and MD5."""
    url = k.queue()
    reply = k.sqs.send_message_batch(QueueUrl=url, Entries=entries(10))
    equal(sorted(e["Id"] for e in reply["Successful"]), sorted(f"e{n}" for n in range(10)), "ids")
    for entry in reply["Successful"]:
        body = f"body {entry['Id'][1:]}"
        equal(entry["MD5OfMessageBody"], md5(body.encode()), "MD5")
    equal(k.counts(url), (10, 0, 0), "counts")


@check("batches")
def empty_batch(k):
    """A batch without entries is refused."""
    url = k.queue()
    k.refused(lambda: k.sqs.send_message_batch(QueueUrl=url, Entries=[]), "EmptyBatchRequest")
    k.refused(lambda: k.sqs.delete_message_batch(QueueUrl=url, Entries=[]), "EmptyBatchRequest")


@check("batches")
def eleven_entries(k):
    """A batch of eleven is refused, and nothing of it sent."""
    url = k.queue()
    k.refused(
        lambda: k.sqs.send_message_batch(QueueUrl=url, Entries=entries(11)),
        "TooManyEntriesInBatchRequest",
    )
    equal(k.counts(url), (0, 0, 0), "counts")


@check("batches")
def repeated_ids(k):
    """Ids in a batch are distinct."""
    url = k.queue()
    k.refused(
        lambda: k.sqs.send_message_batch(QueueUrl=url, Entries=entries(1) * 2),
        "BatchEntryIdsNotDistinct",
    )


@check("batches")
def bad_ids(k):
    """Ids have at most 80 letters, digits, hyphens and underscores."""
    url = k.queue()
    for bad in ("", "a b", "a.b", "x" * 81):
        entry = {"Id": bad, "MessageBody": "x"}
        k.refused(
            lambda: k.sqs.send_message_batch(QueueUrl=url, Entries=[entry]), "InvalidBatchEntryId"
        )


@check("batches")
def total_size(k):
    """The entries of a batch have at most 1 MiB together."""
    url = k.queue()
    half = [{"Id": str(n), "MessageBody": "x" * (MIB // 2)} for n in range(2)]
    k.sqs.send_message_batch(QueueUrl=url, Entries=half)
    half[0]["MessageBody"] += "x"
    k.refused(
        lambda: k.sqs.send_message_batch(QueueUrl=url, Entries=half), "BatchRequestTooLong"
    )


@check("batches", core=True)
def one_bad_entry_fails_alone(k):
    """An entry with a forbidden character fails; the others are sent."""
    url = k.queue()
    batch = entries(3)
    batch[1]["MessageBody"] = "\x00"
    reply = k.sqs.send_message_batch(QueueUrl=url, Entries=batch)
    equal(sorted(e["Id"] for e in reply["Successful"]), ["e0", "e2"], "successful")
    failed = reply.get("Failed", [])
    equal([(e["Id"], e["SenderFault"]) for e in failed], [("e1", True)], "failed")
    equal(k.counts(url), (2, 0, 0), "counts")


@check("batches")
def an_entry_with_a_bad_delay_fails_alone(k):
    """An entry with a delay out of range fails; the others are sent."""
    url = k.queue()
    batch = entries(2)
    batch[0]["DelaySeconds"] = 901
    reply = k.sqs.send_message_batch(QueueUrl=url, Entries=batch)
    equal([e["Id"] for e in reply.get("Failed", [])], ["e0"], "failed")
    equal([e["Id"] for e in reply["Successful"]], ["e1"], "successful")


@check("batches")
def batch_attributes(k):
    """Entries carry attributes and delays of their own."""
    url = k.queue()
    batch = entries(2)
    batch[0]["MessageAttributes"] = ATTRIBUTES
    batch[1]["DelaySeconds"] = 60
    reply = k.sqs.send_message_batch(QueueUrl=url, Entries=batch)
    sums = {e["Id"]: e.get("MD5OfMessageAttributes") for e in reply["Successful"]}
    equal(sums, {"e0": attributes_md5(ATTRIBUTES), "e1": None}, "MD5s")
    equal(k.counts(url), (1, 0, 1), "counts")


@check("batches", core=True)
def delete_batch(k):
    """Entries are deleted; one with a garbage handle fails alone."""
    url = k.queue()
    k.sqs.send_message_batch(QueueUrl=url, Entries=entries(3))
    got = k.receive(url)
    batch = [{"Id": f"d{n}", "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(got)]
    batch.append({"Id": "bad", "ReceiptHandle": "garbage"})
    reply = k.sqs.delete_message_batch(QueueUrl=url, Entries=batch)
    equal(len(reply["Successful"]), 3, "successful")
    equal([(e["Id"], e["Code"]) for e in reply.get("Failed", [])], [("bad", "ReceiptHandleIsInvalid")], "failed")
    equal(k.counts(url), (0, 0, 0), "counts")


@check("batches")
def change_visibility_batch(k):
    """Visibilities are changed; one out of range fails alone."""
    url = k.queue()
    k.sqs.send_message_batch(QueueUrl=url, Entries=entries(2))
    got = k.receive(url)
    handles = [m["ReceiptHandle"] for m in got]
    reply = k.sqs.change_message_visibility_batch(
        QueueUrl=url,
        Entries=[
            {"Id": "ok", "ReceiptHandle": handles[0], "VisibilityTimeout": 0},
            {"Id": "bad", "ReceiptHandle": handles[1], "VisibilityTimeout": 43201},
        ],
    )
    equal([e["Id"] for e in reply["Successful"]], ["ok"], "successful")
    equal([e["Id"] for e in reply.get("Failed", [])], ["bad"], "failed")
    equal(k.one(url)["MessageId"], got[0]["MessageId"], "id")


@check("sending")
def binary_is_base64_on_the_wire(k):
    """BinaryValue travels as base64 in the JSON protocol."""
    url = k.queue()
    k.send(url, MessageAttributes={"b": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}})
    body = '{"QueueUrl":"%s","MessageAttributeNames":["b"]}' % url
    status, _, reply = k.raw("ReceiveMessage", body)
    equal(status, 200, "status")
    demand(base64.b64encode(b"\x00\xff") in reply, reply)
