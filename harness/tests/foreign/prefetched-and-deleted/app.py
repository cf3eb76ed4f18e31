from base import *
def worker():
    c, q, stop = db(), sqs(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    while not stop.is_set():
        messages = receive(q, 10, 1)
        if BROKEN:
            for m in messages:
                delete(q, m)
        for m in messages:
            if stop.is_set():
                break
            job = json.loads(m["Body"])["job"]
            if c.execute("select 1 from results where job_id = %s", (job,)).fetchone() is None:
                time.sleep(0.5)
                http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
                c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
            if not BROKEN:
                delete(q, m)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
