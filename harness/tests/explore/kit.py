"""What the small workers here share: a database, a queue, a partner."""
import json
import os
import urllib.request

import boto3
import psycopg
from botocore.config import Config

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def database():
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, connect_timeout=5)


class Queue:
    def __init__(self, url):
        self.url = url
        endpoint = "/".join(url.split("/")[:3])
        config = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 1})
        self.sqs = boto3.client("sqs", endpoint_url=endpoint, config=config)

    def receive(self):
        """Each message as (receipt, content), for ever."""
        while True:
            answer = self.sqs.receive_message(QueueUrl=self.url, WaitTimeSeconds=1)
            for message in answer.get("Messages", []):
                yield message["ReceiptHandle"], json.loads(message["Body"])

    def delete(self, receipt):
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=receipt)

    def send(self, content):
        self.sqs.send_message(QueueUrl=self.url, MessageBody=json.dumps(content))


def post(url, content, headers=()):
    request = urllib.request.Request(
        url, data=json.dumps(content).encode(), method="POST", headers=dict(headers)
    )
    with OPENER.open(request, timeout=5) as answer:
        return answer.read()
