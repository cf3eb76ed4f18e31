"""arq as its documentation shows it: an API that enqueues, a worker that works."""
import asyncio, json, os, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from arq import create_pool
from arq.connections import RedisSettings

SETTINGS = RedisSettings.from_dsn(os.environ["REDIS_URL"])


async def charge(ctx, name):
    body = json.dumps({"job": ctx["job_id"]}).encode()
    url = os.environ["OUTSIDE"] + "/charges"
    await asyncio.to_thread(urllib.request.urlopen, urllib.request.Request(url, body, method="POST"))


class WorkerSettings:
    functions = [charge]
    redis_settings = SETTINGS
    poll_delay = 0.1


async def enqueue(name):
    pool = await create_pool(SETTINGS)
    job = await pool.enqueue_job("charge", name)
    await pool.aclose()
    return job.job_id


class Api(BaseHTTPRequestHandler):
    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"job": asyncio.run(enqueue(wish["name"]))}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Api).serve_forever()
