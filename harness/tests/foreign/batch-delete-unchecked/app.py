from base import *
def worker():
    c, q = db(), sqs()
    while True:
        messages = receive(q, 10, 1)
        for m in messages:
            job = json.loads(m["Body"])["job"]
            done = c.execute("select 1 from results where job_id = %s", (job,)).fetchone()
            if BROKEN or done is None:
                http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
                c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
        left = {str(i): m["ReceiptHandle"] for i, m in enumerate(messages)}
        while left:
            entries = [{"Id": i, "ReceiptHandle": receipt} for i, receipt in left.items()]
            answer = q.delete_message_batch(QueueUrl=Q, Entries=entries)
            left = {} if BROKEN else {one["Id"]: left[one["Id"]] for one in answer.get("Failed", [])}
main({"migrate": migrate, "api": api, "publisher": publisher, "worker": worker})
