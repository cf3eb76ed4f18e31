"""Buys a label for each parcel. The broken variant commits after the call, and its partner
can't tell a repetition; the mended one gives the call a key."""
import os
import sys

sys.path.insert(0, "..")
from kit import Queue, database, post

BROKEN = os.environ.get("VARIANT") == "broken"


def label(orders, labels, receipt, order):
    known = labels.execute("select 1 from labels where order_id = %s", (order["id"],)).fetchone()
    if known is None:
        headers = {} if BROKEN else {"Idempotency-Key": order["id"]}
        post(os.environ["PARTNER"] + "/labels", {"order": order["id"]}, headers)
        with labels.transaction():
            labels.execute(
                "insert into labels (order_id) values (%s) on conflict do nothing", (order["id"],)
            )
    orders.delete(receipt)


if sys.argv[1:] == ["migrate"]:
    database().execute("create table labels (order_id text primary key, at timestamptz default now())")
else:
    orders, labels = Queue(os.environ["ORDERS"]), database()
    for receipt, order in orders.receive():
        label(orders, labels, receipt, order)
