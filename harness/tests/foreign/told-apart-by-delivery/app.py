from base import *
MORE = "create table heard (id text primary key);"
def envelope(job, name):
    event = {"id": f"event-{job}", "job": job, "name": name}
    return json.dumps({"Type": "Notification", "MessageId": str(uuid.uuid4()), "TopicArn": "arn:aws:sns:eu-west-1:000000000000:events", "Message": json.dumps(event)})
def topic():
    c, q = db(), sqs()
    while True:
        for row, job, name in c.execute("select o.id, o.job_id, j.name from outbox o join jobs j on j.id = o.job_id where o.state = 'unsent' order by o.id limit 10").fetchall():
            q.send_message(QueueUrl=Q, MessageBody=envelope(job, name))
            c.execute("update outbox set state = 'sent' where id = %s and job_id = %s", (row, job))
        time.sleep(0.02)
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            event = json.loads(json.loads(m["Body"])["Message"])
            known = m["MessageId"] if BROKEN else event["id"]
            if c.execute("select 1 from heard where id = %s", (known,)).fetchone() is None:
                http("POST", os.environ["OUTSIDE"] + "/charges", {"job": event["job"]})
                with c.transaction():
                    c.execute("insert into heard (id) values (%s)", (known,))
                    c.execute("insert into results (job_id) values (%s) on conflict do nothing", (event["job"],))
            delete(q, m)
main({"migrate": lambda: migrate(MORE), "api": api, "publisher": topic, "worker": worker})
