"""taskiq as its documentation shows it: an API that kicks tasks, a worker that works."""
import asyncio, json, os, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from taskiq import Context, TaskiqDepends
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

url = os.environ["REDIS_URL"]
broker = RedisStreamBroker(url).with_result_backend(RedisAsyncResultBackend(url))


@broker.task
async def charge(name: str, context: Context = TaskiqDepends()) -> str:
    body = json.dumps({"job": context.message.task_id}).encode()
    request = urllib.request.Request(os.environ["OUTSIDE"] + "/charges", body, method="POST")
    await asyncio.to_thread(urllib.request.urlopen, request)
    return name


async def kick(name):
    await broker.startup()
    task = await charge.kiq(name)
    await broker.shutdown()
    return task.task_id


class Api(BaseHTTPRequestHandler):
    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"job": asyncio.run(kick(wish["name"]))}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Api).serve_forever()
