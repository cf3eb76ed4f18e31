from base import *

def loop(r):
    while not BROKEN and r.lmove("doing", "jobs", "RIGHT", "LEFT"):
        pass  # what was in hand when this worker died
    while True:
        if BROKEN:
            popped = r.blpop("jobs", timeout=1)
            raw = popped and popped[1]
        else:
            raw = r.blmove("jobs", "doing", 1, "LEFT", "RIGHT")
        if raw:
            work(r, json.loads(raw)["job"])
            if not BROKEN:
                r.lrem("doing", 1, raw)

serve(loop)
