from base import *
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            job = json.loads(m["Body"])["job"]
            if c.execute("select 1 from results where job_id = %s", (job,)).fetchone() is None:
                done = threading.Event()
                def beat():
                    while not done.wait(0.5):
                        q.change_message_visibility(QueueUrl=Q, ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=10)
                if not BROKEN:
                    beating = threading.Thread(target=beat); beating.start()
                time.sleep(4)
                http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
                c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
                if not BROKEN:
                    done.set(); beating.join()
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
