from base import *
def handle(c, job):
    http("POST", os.environ["OUTSIDE"] + "/mails", {"job": job})
    c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
def worker():
    c, q = db(), sqs()
    while True:
        for m in receive(q, 1, 1):
            job = json.loads(m["Body"])["job"]
            if BROKEN:
                try:
                    handle(c, job)
                except urllib.error.HTTPError as e:
                    print("mail service:", e, flush=True)
                finally:
                    delete(q, m)
                continue
            try:
                handle(c, job)
            except urllib.error.HTTPError as e:
                print("mail service:", e, flush=True)
                q.change_message_visibility(QueueUrl=Q, ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=1)
                continue
            delete(q, m)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
