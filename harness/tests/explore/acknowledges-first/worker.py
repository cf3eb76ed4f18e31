"""Packs parcels. The broken variant tells the queue that it is done before it is."""
import os
import sys

sys.path.insert(0, "..")
from kit import Queue, database

BROKEN = os.environ.get("VARIANT") == "broken"


def pack(orders, parcels, receipt, order):
    if BROKEN:
        orders.delete(receipt)
    with parcels.transaction():
        parcels.execute(
            "insert into parcels (order_id, state) values (%s, 'packed') on conflict do nothing",
            (order["id"],),
        )
    if not BROKEN:
        orders.delete(receipt)


if sys.argv[1:] == ["migrate"]:
    database().execute("create table parcels (order_id text primary key, state text not null)")
else:
    orders, parcels = Queue(os.environ["ORDERS"]), database()
    for receipt, order in orders.receive():
        pack(orders, parcels, receipt, order)
