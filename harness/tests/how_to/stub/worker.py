from common import *

ORDERS, SHELF = os.environ["ORDERS"], os.environ["SHELF"]
client = queue(ORDERS)


def is_there(url):
    try:
        http("GET", url)
        return True
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return False


for message in each(client, ORDERS):
    order = json.loads(message["Body"])["id"]
    noted = f"{SHELF}/shelf/{order}"
    if not is_there(noted):
        while True:
            try:
                http("POST", f"{SHELF}/mails", {"order": order})
                break
            except urllib.error.HTTPError:
                time.sleep(0.05)
        http("PUT", noted, {"mailed": True})
    done(client, ORDERS, message)
