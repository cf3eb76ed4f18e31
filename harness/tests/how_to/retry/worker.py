from common import *

ORDERS = os.environ["ORDERS"]
table = database("packed (id text primary key)")
client = queue(ORDERS)
for message in each(client, ORDERS):
    order = json.loads(message["Body"])
    if order["tries"] < 1:
        again = {**order, "tries": order["tries"] + 1}
        client.send_message(QueueUrl=ORDERS, MessageBody=json.dumps(again), DelaySeconds=1)
    else:
        table.execute("insert into packed (id) values (%s) on conflict do nothing", (order["id"],))
    done(client, ORDERS, message)
