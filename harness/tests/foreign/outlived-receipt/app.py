from base import *
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            job = json.loads(m["Body"])["job"]
            done = threading.Event()
            def beat():
                while not done.wait(0.3):
                    q.change_message_visibility(QueueUrl=Q, ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=10)
            if not BROKEN:
                beating = threading.Thread(target=beat); beating.start()
            time.sleep(3)
            http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
            c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
            if not BROKEN:
                done.set(); beating.join()
            delete(q, m)                 # answered with 200 either way
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
