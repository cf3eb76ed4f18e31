from base import *
def relay():
    c, q = db(), sqs()
    while True:
        rows = c.execute("select o.id, o.job_id, j.name from outbox o join jobs j on j.id = o.job_id where o.state = 'unsent' order by o.id limit 10").fetchall()
        for row, job, name in rows:
            send = lambda: q.send_message(QueueUrl=Q, MessageBody=json.dumps({"job": job, "name": name}))
            if BROKEN:
                answer = threading.Thread(target=send)      # fire and forget; what it raises nobody sees
                answer.start(); answer.join()
            else:
                try:
                    send()
                except (ClientError, BotoCoreError) as e:
                    print("not sent:", e, flush=True)
                    continue
            c.execute("update outbox set state = 'sent' where id = %s and job_id = %s", (row, job))
        time.sleep(0.05)
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            c.execute("insert into results (job_id) values (%s) on conflict do nothing", (json.loads(m["Body"])["job"],))
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": relay, "worker": worker})
