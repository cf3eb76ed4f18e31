import base
from base import *

def find():
    """Its queue, as a library finds it: by creating it, by its name, in the list."""
    q = sqs()
    url = q.create_queue(QueueName="jobs", Attributes={"VisibilityTimeout": "2"})["QueueUrl"]
    assert url.endswith("/jobs"), url
    assert q.get_queue_url(QueueName="jobs")["QueueUrl"] == url
    assert q.list_queues(QueueNamePrefix="job")["QueueUrls"] == [url]
    assert q.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"].endswith(":jobs")
    base.Q = url

def work_off(url, c, q):
    for m in q.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", []):
        job = json.loads(m["Body"])["job"]
        http("POST", os.environ["OUTSIDE"] + "/charges", {"job": job})
        c.execute("insert into results (job_id) values (%s) on conflict do nothing", (job,))
        q.delete_message(QueueUrl=url, ReceiptHandle=m["ReceiptHandle"])

def send_on():
    find()
    publisher()

def worker():
    find()
    c, q = db(), sqs()
    if BROKEN:
        other = q.create_queue(QueueName="retries")["QueueUrl"]
        q.send_message(QueueUrl=other, MessageBody="{}")
        got = []
        while not got:
            got = q.receive_message(QueueUrl=other, WaitTimeSeconds=1).get("Messages", [])
        q.delete_message(QueueUrl=other, ReceiptHandle=got[0]["ReceiptHandle"])
    while True:
        work_off(base.Q, c, q)

main({"migrate": migrate, "api": api, "publisher": send_on, "worker": worker})
