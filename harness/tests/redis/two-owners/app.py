import socket
from base import *

# Long enough for any work, or not.
IDLE = 300 if BROKEN else 60_000

def loop(r):
    me = f"{socket.gethostname()}-{os.getpid()}"
    try:
        r.xgroup_create("jobs", "workers", id="0", mkstream=True)
    except redis.ResponseError:
        pass  # it is there
    while True:
        entries = r.xautoclaim("jobs", "workers", me, min_idle_time=IDLE, count=1)[1]
        if not entries:
            read = r.xreadgroup("workers", me, {"jobs": ">"}, count=1, block=100)
            entries = read[0][1] if read else []
        for entry, fields in entries:
            job = json.loads(fields[b"body"])["job"]
            r.incr(f"tries:{job}")
            time.sleep(2)
            r.set(f"result:{job}", "done", nx=True)
            r.xack("jobs", "workers", entry)

serve(loop)
