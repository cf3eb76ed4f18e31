from base import *

def loop(r):
    while r.lmove("doing", "jobs", "RIGHT", "LEFT"):
        pass
    while True:
        for raw in r.zrangebyscore("later", 0, time.time(), start=0, num=10):
            with r.pipeline(transaction=not BROKEN) as p:
                p.zrem("later", raw)
                p.rpush("jobs", raw)
                p.execute()
        raw = r.blmove("jobs", "doing", 0.1, "LEFT", "RIGHT")
        if raw:
            work(r, json.loads(raw)["job"])
            r.lrem("doing", 1, raw)

serve(loop)
