from base import *
def by_cursor():
    c, q, last = db(), sqs(), 0
    while True:
        for row, job in c.execute("select id, job_id from outbox where id > %s order by id limit 10", (last,)).fetchall():
            q.send_message(QueueUrl=Q, MessageBody=json.dumps({"job": job}))
            c.execute("update outbox set state = 'sent' where id = %s and job_id = %s", (row, job))
            last = row
        time.sleep(0.02)
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            job = json.loads(m["Body"])["job"]
            if c.execute("select 1 from results where job_id = %s", (job,)).fetchone() is None:
                http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
                c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": by_cursor if BROKEN else publisher, "worker": worker})
