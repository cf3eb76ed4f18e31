"""What every case shares: a client of Redis, the outside service, a result."""
import json, os, sys, time, urllib.request
import redis

BROKEN = os.environ.get("VARIANT") == "broken"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

def connect(**how):
    return redis.Redis.from_url(os.environ["REDIS_URL"], **how)

def work(r, job):
    if r.exists(f"result:{job}"):
        return
    body = json.dumps({"job": job}).encode()
    OPENER.open(urllib.request.Request(os.environ["OUTSIDE"] + "/charges", data=body, method="POST"), timeout=5).read()
    r.set(f"result:{job}", "done")

def serve(loop):
    while True:
        try:
            loop(connect())
        except redis.ConnectionError:
            time.sleep(0.1)
