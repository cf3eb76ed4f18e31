from base import *

def loop(r):
    while True:
        raw = r.blmove("jobs", "doing", 1, "LEFT", "RIGHT")
        if not raw:
            continue
        job = json.loads(raw)["job"]
        r.set(f"result:{job}", "done")
        if BROKEN:
            r.rpush("failed", raw)
        r.lrem("doing", 1, raw)

serve(loop)
