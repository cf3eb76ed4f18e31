from base import *
PARTS = os.environ.get("PARTS_URL")
EXTRA = """
create table parts (part text primary key, job text not null);
create table splits (job text primary key);
"""
def splitter():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            job = json.loads(m["Body"])["job"]
            known = [row[0] for row in c.execute("select part from parts where job = %s order by part", (job,)).fetchall()]
            parts = known or [str(uuid.uuid4()) for _ in range(3)]
            if not known:
                values = [value for part in parts for value in (part, job)]
                c.execute("insert into parts (part, job) values (%s, %s), (%s, %s), (%s, %s)", values)
            if not known or not BROKEN:
                for part in parts:
                    q.send_message(QueueUrl=PARTS, MessageBody=json.dumps({"part": part}))
            c.execute("insert into splits (job) values (%s) on conflict do nothing", (job,))
            delete(q, m)
def worker():
    c, q = db(), sqs()
    while True:
        for m in q.receive_message(QueueUrl=PARTS, WaitTimeSeconds=1).get("Messages", []):
            part = json.loads(m["Body"])["part"]
            if c.execute("select 1 from results where job_id = %s", (part,)).fetchone() is None:
                http("POST", os.environ["OUTSIDE"] + "/charges", {"part": part})
                c.execute("insert into results (job_id) values (%s)", (part,))
            q.delete_message(QueueUrl=PARTS, ReceiptHandle=m["ReceiptHandle"])
main({"migrate": lambda: migrate(EXTRA), "api": api, "publisher": publisher, "splitter": splitter, "worker": worker})
