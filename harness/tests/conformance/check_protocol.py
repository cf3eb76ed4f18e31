"""The wire: bad requests, headers, the older protocol."""

import json
import xml.etree.ElementTree as xml
from urllib.parse import urlencode

from kit import check, demand, equal

NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"


@check("protocol")
def unknown_action(k):
    """An action that does not exist is a client error."""
    status, _, body = k.raw("MakeCoffee", "{}")
    demand(400 <= status < 500, f"status {status}: {body[:80]}")


@check("protocol")
def malformed_json(k):
    """What is no JSON is a client error in the shape of AWS."""
    for bad in ("{", "nonsense", '{"QueueName": "\\ud800"}', "[" * 100000):
        status, _, body = k.raw("CreateQueue", bad)
        equal(status, 400, f"status for {bad[:20]}")
        demand("__type" in json.loads(body), body[:80])


@check("protocol")
def wrong_types(k):
    """A parameter of the wrong type is a client error in the shape of AWS."""
    url = k.queue()
    for action, request in (
        ("CreateQueue", {"QueueName": 5}),
        ("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": "many"}),
        ("SendMessage", {"QueueUrl": url, "MessageBody": {"a": 1}}),
        ("SendMessageBatch", {"QueueUrl": url, "Entries": "none"}),
    ):
        status, _, body = k.raw(action, json.dumps(request))
        equal(status, 400, f"status of {action}")
        demand("__type" in json.loads(body), body[:80])


@check("protocol")
def missing_parameters(k):
    """A missing parameter is a client error."""
    url = k.queue()
    for action, request in (
        ("CreateQueue", {}),
        ("SendMessage", {"QueueUrl": url}),
        ("SendMessage", {"MessageBody": "x"}),
        ("ReceiveMessage", {}),
        ("DeleteMessage", {"QueueUrl": url}),
        ("ChangeMessageVisibility", {"QueueUrl": url, "ReceiptHandle": "x"}),
        ("TagQueue", {"QueueUrl": url}),
    ):
        status, _, body = k.raw(action, json.dumps(request))
        equal(status, 400, f"status of {action} {request}")


@check("protocol")
def errors_carry_both_codes(k):
    """An error has its shape in __type and the older code in x-amzn-query-error."""
    status, headers, body = k.raw("GetQueueUrl", json.dumps({"QueueName": k.name("missing")}))
    equal(status, 400, "status")
    equal(json.loads(body)["__type"].rsplit("#", 1)[-1], "QueueDoesNotExist", "shape")
    equal(
        headers.get("x-amzn-query-error"),
        "AWS.SimpleQueueService.NonExistentQueue;Sender",
        "header",
    )


@check("protocol")
def request_ids(k):
    """Every answer has a request id of its own."""
    ids = {k.raw("ListQueues", "{}")[1].get("x-amzn-requestid") for _ in range(3)}
    demand(None not in ids and len(ids) == 3, f"ids {ids}")


@check("protocol")
def modelled_exceptions(k):
    """boto3 raises its own exception class for a missing queue."""
    try:
        k.sqs.get_queue_url(QueueName=k.name("missing"))
    except k.sqs.exceptions.QueueDoesNotExist:
        return
    demand(False, "no error")


def form(k, **parameters):
    status, _, body = k.raw(
        None,
        urlencode(parameters),
        {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"},
    )
    return status, xml.fromstring(body)


@check("query protocol")
def a_message_through_the_older_protocol(k):
    """Create, send with attributes, receive and delete work with forms and XML."""
    name = k.name()
    status, reply = form(
        k, Action="CreateQueue", QueueName=name, **{"Attribute.1.Name": "DelaySeconds", "Attribute.1.Value": "0"}
    )
    equal(status, 200, "status")
    url = reply.find(f".//{NAMESPACE}QueueUrl").text
    k.made.append(url)
    status, reply = form(
        k,
        Action="SendMessage",
        QueueUrl=url,
        MessageBody="a<b&ü",
        **{
            "MessageAttribute.1.Name": "kind",
            "MessageAttribute.1.Value.DataType": "String",
            "MessageAttribute.1.Value.StringValue": "x",
        },
    )
    equal(status, 200, "status")
    sent = reply.find(f".//{NAMESPACE}MessageId").text
    status, reply = form(
        k,
        Action="ReceiveMessage",
        QueueUrl=url,
        MaxNumberOfMessages="10",
        **{"AttributeName.1": "All", "MessageAttributeName.1": "All"},
    )
    equal(status, 200, "status")
    message = reply.find(f".//{NAMESPACE}Message")
    equal(message.find(f"{NAMESPACE}MessageId").text, sent, "id")
    equal(message.find(f"{NAMESPACE}Body").text, "a<b&ü", "body")
    equal(message.find(f"{NAMESPACE}MessageAttribute/{NAMESPACE}Name").text, "kind", "attribute")
    handle = message.find(f"{NAMESPACE}ReceiptHandle").text
    status, _ = form(k, Action="DeleteMessage", QueueUrl=url, ReceiptHandle=handle)
    equal(status, 200, "status")
    equal(k.counts(url), (0, 0, 0), "counts")


@check("query protocol")
def batches_through_the_older_protocol(k):
    """A batch of forms succeeds and fails by entry."""
    url = k.queue()
    status, reply = form(
        k,
        Action="SendMessageBatch",
        QueueUrl=url,
        **{
            "SendMessageBatchRequestEntry.1.Id": "a",
            "SendMessageBatchRequestEntry.1.MessageBody": "x",
            "SendMessageBatchRequestEntry.2.Id": "b",
            "SendMessageBatchRequestEntry.2.MessageBody": "y",
            "SendMessageBatchRequestEntry.2.DelaySeconds": "901",
        },
    )
    equal(status, 200, "status")
    ids = [e.find(f"{NAMESPACE}Id").text for e in reply.iter(f"{NAMESPACE}SendMessageBatchResultEntry")]
    equal(ids, ["a"], "successful")
    ids = [e.find(f"{NAMESPACE}Id").text for e in reply.iter(f"{NAMESPACE}BatchResultErrorEntry")]
    equal(ids, ["b"], "failed")


@check("query protocol")
def errors_of_the_older_protocol(k):
    """An error is XML with type, code and message."""
    status, reply = form(k, Action="GetQueueUrl", QueueName=k.name("missing"))
    equal(status, 400, "status")
    code = [e.text for e in reply.iter() if e.tag.rsplit("}", 1)[-1] == "Code"]
    equal(code, ["AWS.SimpleQueueService.NonExistentQueue"], "code")
