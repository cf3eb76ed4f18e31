"""What the small workers here share: a database, a queue, a partner. The queue is spoken to
without an SDK, whose import takes longer than all else that these workers do."""
import json
import os
import urllib.request

import psycopg

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def database():
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, connect_timeout=5)


class Queue:
    def __init__(self, url):
        self.url = url
        self.endpoint = "/".join(url.split("/")[:3])

    def receive(self):
        """Each message as (receipt, content), for ever."""
        while True:
            answer = self.call("ReceiveMessage", WaitTimeSeconds=1)
            for message in answer.get("Messages", []):
                yield message["ReceiptHandle"], json.loads(message["Body"])

    def delete(self, receipt):
        self.call("DeleteMessage", ReceiptHandle=receipt)

    def send(self, content):
        self.call("SendMessage", MessageBody=json.dumps(content))

    def call(self, action, **values):
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"AmazonSQS.{action}",
        }
        answer = post(self.endpoint, {"QueueUrl": self.url, **values}, headers)
        return json.loads(answer or b"{}")


def post(url, content, headers=()):
    request = urllib.request.Request(
        url, data=json.dumps(content).encode(), method="POST", headers=dict(headers)
    )
    with OPENER.open(request, timeout=10) as answer:
        return answer.read()
