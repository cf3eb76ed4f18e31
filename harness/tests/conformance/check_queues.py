"""Queues and their attributes."""

import json
import time

from kit import check, demand, equal

RANGES = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1024, 1048576),
    "MessageRetentionPeriod": (60, 1209600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43200),
}


@check("queues", core=True)
def create_and_find(k):
    """GetQueueUrl gives the URL that CreateQueue gave."""
    name = k.name()
    url = k.queue(name)
    equal(k.sqs.get_queue_url(QueueName=name)["QueueUrl"], url, "URL")
    demand(url.endswith("/" + name), url)


@check("queues")
def create_again_with_the_same_attributes(k):
    """CreateQueue with the same attributes gives the same URL."""
    name = k.name()
    equal(k.queue(name, DelaySeconds=3), k.queue(name, DelaySeconds=3), "URL")


@check("queues")
def create_again_with_other_attributes(k):
    """CreateQueue with other attributes is refused."""
    name = k.name()
    k.queue(name, DelaySeconds=3)
    k.refused(lambda: k.queue(name, DelaySeconds=4), "QueueAlreadyExists", "QueueNameExists")


@check("queues")
def names_are_checked(k):
    """Names have letters, digits, hyphens and underscores."""
    k.queue(k.name("A_b-9"))
    for bad in ("with space", "dot.ted", "umläut", "sla/sh"):
        k.refused(lambda: k.queue(bad), "InvalidParameterValue")


@check("queues")
def names_have_at_most_80_characters(k):
    """80 characters are taken, 81 are not."""
    k.queue(k.name().ljust(80, "x"))
    k.refused(lambda: k.queue("x" * 81), "InvalidParameterValue")


@check("queues")
def ranges_hold_on_create(k):
    """The ends of each documented range are taken, one beyond is not."""
    for attribute, (low, high) in RANGES.items():
        for good in (low, high):
            k.queue(**{attribute: good})
        for bad in (low - 1, high + 1, "abc"):
            k.refused(
                lambda: k.queue(**{attribute: bad}), "InvalidAttributeValue", "InvalidParameterValue"
            )


@check("queues")
def ranges_hold_on_set(k):
    """SetQueueAttributes refuses what is out of range, and changes nothing then."""
    url = k.queue()
    before = k.attributes(url, *RANGES)
    for attribute, (low, high) in RANGES.items():
        for bad in (low - 1, high + 1):
            k.refused(
                lambda: k.sqs.set_queue_attributes(QueueUrl=url, Attributes={attribute: str(bad)}),
                "InvalidAttributeValue",
                "InvalidParameterValue",
            )
    equal(k.attributes(url, *RANGES), before, "attributes")


@check("queues")
def unknown_attribute_on_create(k):
    """An attribute that does not exist is refused by CreateQueue."""
    k.refused(lambda: k.queue(Nonsense="1"), "InvalidAttributeName")


@check("queues")
def unknown_attribute_on_set(k):
    """An attribute that does not exist, or is read-only, is refused by SetQueueAttributes."""
    url = k.queue()
    for name in ("Nonsense", "QueueArn", "CreatedTimestamp"):
        k.refused(
            lambda: k.sqs.set_queue_attributes(QueueUrl=url, Attributes={name: "1"}),
            "InvalidAttributeName",
        )


@check("queues")
def unknown_attribute_on_get(k):
    """An attribute that does not exist is refused by GetQueueAttributes."""
    url = k.queue()
    k.refused(lambda: k.attributes(url, "Nonsense"), "InvalidAttributeName")


@check("queues", core=True)
def defaults(k):
    """The documented defaults hold."""
    got = k.attributes(k.queue())
    expected = {
        "DelaySeconds": "0",
        "MaximumMessageSize": "1048576",
        "MessageRetentionPeriod": "345600",
        "ReceiveMessageWaitTimeSeconds": "0",
        "VisibilityTimeout": "30",
        "SqsManagedSseEnabled": "true",
        "ApproximateNumberOfMessages": "0",
        "ApproximateNumberOfMessagesNotVisible": "0",
        "ApproximateNumberOfMessagesDelayed": "0",
    }
    equal({name: got.get(name) for name in expected}, expected, "defaults")
    for absent in ("Policy", "RedrivePolicy", "FifoQueue"):
        demand(absent not in got, f"{absent} is there")


@check("queues")
def arn_and_times(k):
    """ARN and time stamps are as documented."""
    name = k.name()
    before = int(time.time()) - 1
    url = k.queue(name)
    got = k.attributes(url)
    account = url.rsplit("/", 2)[1]
    equal(got["QueueArn"], f"arn:aws:sqs:us-east-1:{account}:{name}", "ARN")
    for stamp in ("CreatedTimestamp", "LastModifiedTimestamp"):
        demand(before <= int(got[stamp]) <= time.time() + 1, f"{stamp} {got[stamp]}")


@check("queues")
def only_asked_attributes(k):
    """GetQueueAttributes gives what was asked for, and nothing when nothing was."""
    url = k.queue()
    equal(k.attributes(url, "DelaySeconds"), {"DelaySeconds": "0"}, "attributes")
    reply = k.sqs.get_queue_attributes(QueueUrl=url)
    equal(reply.get("Attributes", {}), {}, "attributes")


@check("queues")
def set_changes_only_what_was_given(k):
    """SetQueueAttributes leaves the others alone."""
    url = k.queue(DelaySeconds=7)
    k.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "11"})
    equal(
        k.attributes(url, "DelaySeconds", "VisibilityTimeout"),
        {"DelaySeconds": "7", "VisibilityTimeout": "11"},
        "attributes",
    )


@check("queues", core=True)
def missing_queue(k):
    """Every action on a queue that does not exist says so."""
    url = k.queue()
    missing = url.rsplit("/", 1)[0] + "/" + k.name("missing")
    handle = "x"
    for call in (
        lambda: k.sqs.get_queue_url(QueueName=k.name("missing")),
        lambda: k.send(missing),
        lambda: k.receive(missing),
        lambda: k.sqs.delete_message(QueueUrl=missing, ReceiptHandle=handle),
        lambda: k.sqs.change_message_visibility(
            QueueUrl=missing, ReceiptHandle=handle, VisibilityTimeout=1
        ),
        lambda: k.attributes(missing),
        lambda: k.sqs.set_queue_attributes(QueueUrl=missing, Attributes={"DelaySeconds": "1"}),
        lambda: k.sqs.purge_queue(QueueUrl=missing),
        lambda: k.sqs.list_queue_tags(QueueUrl=missing),
        lambda: k.sqs.list_dead_letter_source_queues(QueueUrl=missing),
    ):
        k.refused(call, "NonExistentQueue", "QueueDoesNotExist")


@check("queues")
def list_by_prefix(k):
    """ListQueues gives the queues with a prefix, and no others."""
    prefix = k.name("p")
    urls = sorted(k.queue(f"{prefix}-{n}") for n in range(3))
    k.queue()
    equal(sorted(k.sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"]), urls, "URLs")
    equal(k.sqs.list_queues(QueueNamePrefix=k.name("none")).get("QueueUrls", []), [], "URLs")


@check("queues")
def list_in_pages(k):
    """ListQueues with MaxResults gives pages; each queue once."""
    prefix = k.name("p")
    urls = sorted(k.queue(f"{prefix}-{n}") for n in range(5))
    seen, token, pages = [], None, 0
    while True:
        more = {"NextToken": token} if token else {}
        page = k.sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2, **more)
        demand(len(page["QueueUrls"]) <= 2, "a page is too long")
        seen += page["QueueUrls"]
        pages += 1
        token = page.get("NextToken")
        if not token:
            break
    equal(sorted(seen), urls, "URLs")
    equal(pages, 3, "pages")


@check("queues")
def page_size_is_checked(k):
    """MaxResults is from 1 to 1,000."""
    for bad in (0, 1001):
        k.refused(lambda: k.sqs.list_queues(MaxResults=bad))


@check("queues")
def delete_queue(k):
    """A deleted queue is gone, with its messages."""
    name = k.name()
    url = k.queue(name)
    k.send(url)
    k.sqs.delete_queue(QueueUrl=url)
    k.refused(lambda: k.sqs.get_queue_url(QueueName=name), "NonExistentQueue", "QueueDoesNotExist")
    k.refused(lambda: k.receive(url), "NonExistentQueue", "QueueDoesNotExist")


@check("queues")
def a_minute_before_the_same_name(k):
    """A queue's name cannot be used again within 60 seconds of its deletion."""
    name = k.name()
    k.sqs.delete_queue(QueueUrl=k.queue(name))
    k.refused(lambda: k.queue(name), "QueueDeletedRecently")


@check("queues")
def purge(k):
    """PurgeQueue drops messages, in flight or not."""
    url = k.queue()
    for _ in range(3):
        k.send(url)
    k.receive(url, MaxNumberOfMessages=1)
    k.sqs.purge_queue(QueueUrl=url)
    equal(k.counts(url), (0, 0, 0), "counts")


@check("queues")
def one_purge_a_minute(k):
    """A second PurgeQueue within 60 seconds is refused."""
    url = k.queue()
    k.sqs.purge_queue(QueueUrl=url)
    k.refused(lambda: k.sqs.purge_queue(QueueUrl=url), "PurgeQueueInProgress")


@check("queues")
def tags(k):
    """Tags are set at creation, added, replaced and removed."""
    url = k.sqs.create_queue(QueueName=k.name(), tags={"a": "1"})["QueueUrl"]
    k.made.append(url)
    k.sqs.tag_queue(QueueUrl=url, Tags={"a": "2", "b": ""})
    equal(k.sqs.list_queue_tags(QueueUrl=url)["Tags"], {"a": "2", "b": ""}, "tags")
    k.sqs.untag_queue(QueueUrl=url, TagKeys=["a", "never"])
    equal(k.sqs.list_queue_tags(QueueUrl=url)["Tags"], {"b": ""}, "tags")


@check("queues")
def at_most_50_tags(k):
    """A 51st tag is refused."""
    url = k.queue()
    k.sqs.tag_queue(QueueUrl=url, Tags={str(n): "x" for n in range(50)})
    k.refused(lambda: k.sqs.tag_queue(QueueUrl=url, Tags={"one more": "x"}))


@check("queues")
def redrive_policy_is_checked(k):
    """A redrive policy needs an existing target and a count from 1 to 1,000."""
    dead = k.arn(k.queue())
    for policy in (
        {"deadLetterTargetArn": dead + "-missing", "maxReceiveCount": 3},
        {"deadLetterTargetArn": dead, "maxReceiveCount": 0},
        {"deadLetterTargetArn": dead, "maxReceiveCount": 1001},
        {"deadLetterTargetArn": dead},
        {"maxReceiveCount": 3},
    ):
        k.refused(lambda: k.queue(RedrivePolicy=json.dumps(policy)))
    k.refused(lambda: k.queue(RedrivePolicy="no json"))


@check("queues")
def redrive_policy_can_be_read_and_removed(k):
    """RedrivePolicy comes back as it was set; an empty value removes it."""
    url, dead = k.with_dead_letters(3)
    got = json.loads(k.attributes(url)["RedrivePolicy"])
    equal(got["deadLetterTargetArn"], k.arn(dead), "target")
    equal(int(got["maxReceiveCount"]), 3, "count")
    k.sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": ""})
    demand("RedrivePolicy" not in k.attributes(url), "it is still there")


@check("queues")
def redrive_allow_policy(k):
    """A dead-letter queue that denies all cannot be a target."""
    dead = k.queue(RedriveAllowPolicy=json.dumps({"redrivePermission": "denyAll"}))
    policy = json.dumps({"deadLetterTargetArn": k.arn(dead), "maxReceiveCount": 1})
    k.refused(lambda: k.queue(RedrivePolicy=policy))
