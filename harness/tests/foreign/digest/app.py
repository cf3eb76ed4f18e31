from base import *
def worker():
    c, q = db(), sqs()
    while True:
        messages = receive(q, 10, 1)
        jobs = [json.loads(m["Body"])["job"] for m in messages]
        if not BROKEN and jobs:
            done = {row[0] for row in c.execute("select job_id from results where job_id = any(%s)", (jobs,)).fetchall()}
            jobs = [job for job in jobs if job not in done]
        if jobs:
            http("POST", os.environ["OUTSIDE"] + "/digests", {"jobs": jobs})
            with c.transaction():
                for job in jobs:
                    c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
        for m in messages:
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
