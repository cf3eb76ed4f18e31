from base import *
def handler(c, messages):
    """A partial batch response: what failed, by its id."""
    failures = []
    for m in messages:
        job = json.loads(m["Body"])["job"]
        try:
            http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
            c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
        except urllib.error.HTTPError:
            failures.append({"itemIdentifier": job if BROKEN else m["MessageId"]})
    return {"batchItemFailures": failures}
def worker():
    c, q = db(), sqs()
    while True:
        messages = receive(q, 10, 1)
        if not messages:
            continue
        failed = {one["itemIdentifier"] for one in handler(c, messages)["batchItemFailures"]}
        done = [m for m in messages if m["MessageId"] not in failed]
        if done:
            q.delete_message_batch(QueueUrl=Q, Entries=[{"Id": str(at), "ReceiptHandle": m["ReceiptHandle"]} for at, m in enumerate(done)])
        for m in messages:
            if m["MessageId"] in failed:
                q.change_message_visibility(QueueUrl=Q, ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=0)
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
