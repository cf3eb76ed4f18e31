from base import *
def deliver(job):
    key = job if not BROKEN else None
    for pause in (0.1, 0.2, 0.4):
        try:
            return http("POST", os.environ["OUTSIDE"] + "/hooks", {"event": "done", "job": job}, {"Idempotency-Key": key or str(uuid.uuid4())})
        except OSError as e:                 # also HTTPError: ill, or no answer
            print("again:", e, flush=True)
            time.sleep(pause)
    raise RuntimeError("given up")
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            job = json.loads(m["Body"])["job"]
            deliver(job)
            c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
