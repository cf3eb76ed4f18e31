from base import *
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            body = json.loads(m["Body"]); job = body["job"]
            done = c.execute("select 1 from results where job_id = %s", (job,)).fetchone()
            if BROKEN or done is None:
                try:
                    http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
                except urllib.error.HTTPError:
                    q.send_message(QueueUrl=Q, MessageBody=json.dumps({**body, "tries": body.get("tries", 0) + 1}))
                    delete(q, m)
                    continue
                c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
