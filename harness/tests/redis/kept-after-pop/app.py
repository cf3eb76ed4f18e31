from base import *

# A pop and then a hash, as brokers do that must know what they hold: between the two a
# message is nowhere.
def loop(r):
    for raw in r.hvals("unacked"):
        r.rpush("jobs", raw)
        r.hdel("unacked", json.loads(raw)["job"])
    while True:
        popped = r.blpop("jobs", timeout=1)
        if popped:
            job = json.loads(popped[1])["job"]
            r.hset("unacked", job, popped[1])
            work(r, job)
            r.hdel("unacked", job)

serve(loop)
