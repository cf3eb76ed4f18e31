"""What every case shares: an API that puts a job into the table, and the outside service."""
import json, os, sys, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import psycopg

BROKEN = os.environ.get("VARIANT") == "broken"
URL = os.environ["DATABASE_URL"]
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

def charge(job):
    body = json.dumps({"job": str(job)}).encode()
    OPENER.open(urllib.request.Request(os.environ["OUTSIDE"] + "/charges", data=body, method="POST"), timeout=5).read()

class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with psycopg.connect(URL) as db:
            (job,) = db.execute("insert into jobs (name) values (%s) returning id", [wish["name"]]).fetchone()
            db.execute("notify jobs")
        body = json.dumps({"job": str(job)}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

def serve():
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Api).serve_forever()

if __name__ == "__main__":
    with psycopg.connect(URL) as db:
        db.execute(open("schema.sql").read())
