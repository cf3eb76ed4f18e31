"""What the programs share."""
import json, os, time, urllib.error, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def database(*tables):
    """A connection, with these tables."""
    import psycopg

    while True:
        try:
            connection = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
            for table in tables:
                connection.execute(f"create table if not exists {table}")
            return connection
        except psycopg.errors.UniqueViolation:
            time.sleep(0.05)  # another process makes the same table


def queue(url):
    """A client of the queue at this URL."""
    import boto3
    from botocore.config import Config

    endpoint = url.rsplit("/", 2)[0]
    return boto3.client("sqs", endpoint_url=endpoint, config=Config(retries={"total_max_attempts": 1}))


def each(client, url):
    """Message after message, for ever."""
    while True:
        answer = client.receive_message(QueueUrl=url, WaitTimeSeconds=1, MaxNumberOfMessages=1)
        yield from answer.get("Messages", [])


def done(client, url, message):
    client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def http(method, url, value=None):
    data = None if value is None else json.dumps(value).encode()
    with OPENER.open(urllib.request.Request(url, data=data, method=method), timeout=10) as answer:
        return answer.read()


def serve(address, answer):
    """Answers each request with what `answer(method, path, body)` says: a status and a value."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = answer(self.command, self.path, body)
            text = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(address, Handler).serve_forever()
