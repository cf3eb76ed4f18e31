from common import *

ORDERS = os.environ["ORDERS"]
table = database("packed (id text primary key)", "called (batch text primary key)")
client = queue(ORDERS)
for message in each(client, ORDERS):
    order = json.loads(message["Body"])
    table.execute("insert into packed (id) values (%s) on conflict do nothing", (order["id"],))
    if table.execute("select count(*) from packed").fetchone()[0] == 3:
        if table.execute("insert into called values (%s) on conflict do nothing", (order["batch"],)).rowcount:
            http("POST", os.environ["PARTNER"] + "/batches", {"batch": order["batch"]})
    done(client, ORDERS, message)
