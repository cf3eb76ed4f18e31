"""Takes orders into an outbox, sends what lies there, and ships it. The broken sender marks a
row before the queue has the message."""
import os
import sys
import time

sys.path.insert(0, "..")
from kit import Queue, database

BROKEN = os.environ.get("VARIANT") == "broken"


def take():
    orders, db = Queue(os.environ["ORDERS"]), database()
    for receipt, order in orders.receive():
        with db.transaction():
            db.execute(
                "insert into outbox (order_id) values (%s) on conflict do nothing", (order["id"],)
            )
        orders.delete(receipt)


def send():
    shipping, db = Queue(os.environ["SHIPPING"]), database()

    def mark(order):
        with db.transaction():
            db.execute("update outbox set sent = true where order_id = %s", (order,))

    while True:
        for (order,) in db.execute("select order_id from outbox where not sent").fetchall():
            if BROKEN:
                mark(order)
            shipping.send({"id": order})
            if not BROKEN:
                mark(order)
        time.sleep(0.05)


def ship():
    shipping, db = Queue(os.environ["SHIPPING"]), database()
    for receipt, order in shipping.receive():
        with db.transaction():
            db.execute(
                "insert into shipped (order_id) values (%s) on conflict do nothing", (order["id"],)
            )
        shipping.delete(receipt)


def migrate():
    with database() as db:
        db.execute("create table outbox (order_id text primary key, sent boolean not null default false)")
        db.execute("create table shipped (order_id text primary key)")


{"take": take, "send": send, "ship": ship, "migrate": migrate}[sys.argv[1]]()
