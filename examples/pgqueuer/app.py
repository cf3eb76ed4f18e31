"""PgQueuer as its documentation shows it: an API that enqueues, a worker that works."""
import asyncio, json, os, sys, urllib.request
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

url = os.environ["DATABASE_URL"]


async def work():
    pgq = PgQueuer(AsyncpgDriver(await asyncpg.connect(url)))

    @pgq.entrypoint("charge")
    async def charge(job: Job) -> None:
        body = json.dumps({"job": str(job.id)}).encode()
        request = urllib.request.Request(os.environ["OUTSIDE"] + "/charges", body, method="POST")
        await asyncio.to_thread(urllib.request.urlopen, request)

    await pgq.run(dequeue_timeout=timedelta(seconds=1), heartbeat_timeout=timedelta(seconds=2))


async def enqueue(name):
    connection = await asyncpg.connect(url)
    try:
        return (await Queries(AsyncpgDriver(connection)).enqueue("charge", name.encode()))[0]
    finally:
        await connection.close()


class Api(BaseHTTPRequestHandler):
    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"job": str(asyncio.run(enqueue(wish["name"])))}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    if sys.argv[1] == "work":
        asyncio.run(work())
    else:
        HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Api).serve_forever()
