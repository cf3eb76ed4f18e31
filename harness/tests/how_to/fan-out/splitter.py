from common import *

ORDERS, PARTS = os.environ["ORDERS"], os.environ["PARTS"]
table = database("parts (part text primary key, job text)", "splits (job text primary key)")
client = queue(ORDERS)
for message in each(client, ORDERS):
    order = json.loads(message["Body"])["id"]
    parts = [part for part, in table.execute("select part from parts where job = %s", (order,))]
    if not parts:
        parts = [str(uuid.uuid4()), str(uuid.uuid4())]
        table.execute("insert into parts (part, job) values (%s, %s), (%s, %s)", (parts[0], order, parts[1], order))
    for part in parts:
        client.send_message(QueueUrl=PARTS, MessageBody=json.dumps({"part": part}))
    table.execute("insert into splits (job) values (%s) on conflict do nothing", (order,))
    done(client, ORDERS, message)
