"""What every check gets: a client, fresh queues, and ways to demand things."""

import http.client
import json
import threading
import time
import uuid
from urllib.parse import urlparse

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

CHECKS = []


def check(area, core=False, slow=False):
    """Registers a check; its docstring is the sentence that must be true."""

    def register(function):
        CHECKS.append((area, core, slow, function))
        return function

    return register


class Failed(Exception):
    """The server did not do what the documentation says."""


def demand(condition, message):
    if not condition:
        raise Failed(message)


def equal(actual, expected, what):
    demand(actual == expected, f"{what}: expected {expected!r}, got {actual!r}")


class Kit:
    """One check's view of the server."""

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.sqs = boto3.client(
            "sqs",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(
                parameter_validation=False,
                retries={"total_max_attempts": 1},
                max_pool_connections=32,
                read_timeout=30,
            ),
        )
        self.made = []

    def name(self, prefix="c"):
        return f"{prefix}-{uuid.uuid4().hex[:12]}"

    def queue(self, name=None, **attributes):
        """A new queue's URL."""
        url = self.sqs.create_queue(
            QueueName=name or self.name(),
            Attributes={key: str(value) for key, value in attributes.items()},
        )["QueueUrl"]
        self.made.append(url)
        return url

    def arn(self, url):
        return self.attributes(url, "QueueArn")["QueueArn"]

    def attributes(self, url, *names):
        reply = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names or ["All"]))
        return reply.get("Attributes", {})

    def counts(self, url):
        got = self.attributes(
            url,
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        )
        return tuple(
            int(got[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible", "Delayed")
        )

    def with_dead_letters(self, limit, **attributes):
        """A queue and its dead-letter queue."""
        dead = self.queue(self.name("dead"))
        policy = {"deadLetterTargetArn": self.arn(dead), "maxReceiveCount": limit}
        return self.queue(RedrivePolicy=json.dumps(policy), **attributes), dead

    def send(self, url, body="body", **more):
        return self.sqs.send_message(QueueUrl=url, MessageBody=body, **more)

    def receive(self, url, **more):
        more.setdefault("MaxNumberOfMessages", 10)
        return self.sqs.receive_message(QueueUrl=url, **more).get("Messages", [])

    def one(self, url, **more):
        got = self.receive(url, **more)
        equal(len(got), 1, "messages received")
        return got[0]

    def soon(self, url, seconds=5, **more):
        """Receives until something comes, for messages that are on their way."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            got = self.receive(url, **more)
            if got:
                return got
            time.sleep(0.05)
        return []

    def delete(self, url, message):
        return self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def refused(self, call, *codes):
        """The call must fail with a client error, with one of these codes if given."""
        try:
            reply = call()
        except ClientError as error:
            got = error.response["Error"]["Code"]
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            demand(400 <= status < 500, f"status {status} instead of 4xx ({got})")
            short = got.rsplit(".", 1)[-1]
            demand(
                not codes or got in codes or short in codes,
                f"refused with {got} instead of {' or '.join(codes)}",
            )
            return error.response
        raise Failed(f"accepted instead of refused ({' or '.join(codes) or 'any error'}): {trim(reply)}")

    def raw(self, action, body, headers=None, path="/", method="POST"):
        """One HTTP request without an SDK: status, headers, body."""
        where = urlparse(self.endpoint)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
        all_headers = {
            "Content-Type": "application/x-amz-json-1.0",
            # Some servers pick the service from the signature's scope.
            "Authorization": "AWS4-HMAC-SHA256 Credential=test/20250101/us-east-1/sqs/aws4_request, "
            "SignedHeaders=host, Signature=0",
        }
        if action:
            all_headers["X-Amz-Target"] = f"AmazonSQS.{action}"
        all_headers.update(headers or {})
        try:
            connection.request(method, path, body, all_headers)
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()

    def later(self, seconds, action):
        """Does something in a moment, on a thread."""
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        timer.start()

    def clean(self):
        for url in self.made:
            try:
                self.sqs.delete_queue(QueueUrl=url)
            except ClientError:
                pass


def trim(reply):
    if isinstance(reply, dict):
        reply = {k: v for k, v in reply.items() if k != "ResponseMetadata"}
    return str(reply)[:120]


def timed(call):
    """The call's result and how long it took."""
    start = time.monotonic()
    result = call()
    return result, time.monotonic() - start
