"""procrastinate as its documentation shows it: an API that defers, a worker that works."""
import json, os, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import procrastinate

url = os.environ["DATABASE_URL"]
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))
api = procrastinate.App(connector=procrastinate.SyncPsycopgConnector(conninfo=url))


@app.task(name="charge", pass_context=True)
def charge(context, name):
    body = json.dumps({"job": context.job.id}).encode()
    urllib.request.urlopen(urllib.request.Request(os.environ["OUTSIDE"] + "/charges", body, method="POST"))


if os.environ.get("RETRY_STALLED"):
    # https://procrastinate.readthedocs.io/en/stable/howto/production/retry_stalled_jobs.html
    @app.periodic(cron="* * * * * */2")
    @app.task(name="retry_stalled", queueing_lock="retry_stalled", pass_context=True)
    async def retry_stalled(context, timestamp):
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=3):
            await app.job_manager.retry_job(job)


class Api(BaseHTTPRequestHandler):
    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        job = api.configure_task("charge").defer(name=wish["name"])
        body = json.dumps({"job": job}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    with api.open():
        HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Api).serve_forever()
