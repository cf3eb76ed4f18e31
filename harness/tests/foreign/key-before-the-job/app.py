from base import *
MORE = "create table keys (key text primary key, job_id text not null);"
def take_with_key(key, name):
    with db() as c:
        job = str(uuid.uuid4())
        def claim():
            return c.execute("insert into keys (key, job_id) values (%s, %s) on conflict do nothing returning key", (key, job)).fetchone()
        def make():
            c.execute("insert into jobs (id, key, name) values (%s, %s, %s)", (job, key, name))
            c.execute("insert into outbox (job_id) values (%s)", (job,))
        if BROKEN:
            if claim() is None:
                return c.execute("select job_id from keys where key = %s", (key,)).fetchone()[0]
            with c.transaction():
                make()
            return job
        with c.transaction():
            if claim() is None:
                return c.execute("select job_id from keys where key = %s", (key,)).fetchone()[0]
            make()
        return job
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            c.execute("insert into results (job_id) values (%s) on conflict do nothing", (json.loads(m["Body"])["job"],))
            delete(q, m)
main({"migrate": lambda: migrate(MORE), "api": lambda: api(take_with_key), "publisher": publisher, "worker": worker})
