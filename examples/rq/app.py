"""RQ as its documentation shows it: an API that enqueues, a worker that works."""
import json, os, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from redis import Redis
from rq import Queue, get_current_job


def charge(name):
    body = json.dumps({"job": get_current_job().id}).encode()
    urllib.request.urlopen(urllib.request.Request(os.environ["OUTSIDE"] + "/charges", body, method="POST"))


class Api(BaseHTTPRequestHandler):
    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        job = Queue(connection=Redis.from_url(os.environ["REDIS_URL"])).enqueue("app.charge", wish["name"])
        body = json.dumps({"job": job.id}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Api).serve_forever()
