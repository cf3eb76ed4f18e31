from common import *

ORDERS, PAYMENTS = os.environ["ORDERS"], os.environ["PAYMENTS"]
client = queue(ORDERS)
for message in each(client, ORDERS):
    order = json.loads(message["Body"])["id"]
    while True:
        try:
            http("POST", f"{PAYMENTS}/payments", {"order": order})
            break
        except OSError:
            time.sleep(0.05)  # it is down
    done(client, ORDERS, message)
