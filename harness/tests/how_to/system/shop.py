from common import *

TABLE = "orders (id uuid primary key, item text, packed_at timestamptz)"
database(TABLE)


def answer(method, path, body):
    if method == "GET":
        return 200, {}
    order = str(uuid.uuid4())
    item = json.loads(body)["item"]
    database().execute("insert into orders (id, item) values (%s, %s)", (order, item))
    return 201, {"id": order}


host, port = os.environ["LISTEN"].rsplit(":", 1)
serve((host, int(port)), answer)
