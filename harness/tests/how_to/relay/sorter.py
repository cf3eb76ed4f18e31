from common import *

ORDERS, PARCELS = os.environ["ORDERS"], os.environ["PARCELS"]
client = queue(ORDERS)
for message in each(client, ORDERS):
    client.send_message(QueueUrl=PARCELS, MessageBody=message["Body"])
    done(client, ORDERS, message)
