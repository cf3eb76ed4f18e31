from base import *

def loop(r):
    try:
        r.xgroup_create("jobs", "workers", id="0", mkstream=True)
    except redis.ResponseError:
        pass  # it is there
    while True:
        # What a dead consumer had for longer than its work can take.
        entries = r.xautoclaim("jobs", "workers", "me", min_idle_time=60_000)[1]
        if not entries:
            read = r.xreadgroup("workers", "me", {"jobs": ">"}, count=1, block=200)
            entries = read[0][1] if read else []
        for entry, fields in entries:
            if BROKEN:
                r.xack("jobs", "workers", entry)
            work(r, json.loads(fields[b"body"])["job"])
            if not BROKEN:
                r.xack("jobs", "workers", entry)

serve(loop)
