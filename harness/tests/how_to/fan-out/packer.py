from common import *

PARCELS = os.environ["PARTS"]
table = database("packed (id text primary key)")
client = queue(PARCELS)
for message in each(client, PARCELS):
    order = json.loads(message["Body"])["part"]
    table.execute("insert into packed (id) values (%s) on conflict do nothing", (order,))
    done(client, PARCELS, message)
