from base import *
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            job = json.loads(m["Body"])["job"]
            if BROKEN or c.execute("select 1 from results where job_id = %s", (job,)).fetchone() is None:
                time.sleep(3)
                http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
                c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
