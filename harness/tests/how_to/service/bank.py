from common import *

paid = {}


def answer(method, path, body):
    order = json.loads(body)["order"]
    paid[order] = paid.get(order, 0) + 1
    return 201, {"order": order}


serve(("127.0.0.1", int(os.environ["PORT"])), answer)
