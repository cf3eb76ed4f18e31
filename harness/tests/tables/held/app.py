"""A row is locked by the transaction in which its work is done, and deleted at its end."""
import sys
import psycopg
from base import BROKEN, URL, charge, serve

CLAIM = "delete from jobs where id = (select id from jobs order by id for update skip locked limit 1) returning id"

def work():
    listener = psycopg.connect(URL, autocommit=True)
    listener.execute("listen jobs")
    db = psycopg.connect(URL)
    while True:
        row = db.execute(CLAIM).fetchone()
        if row is None:
            db.commit()
            for _ in listener.notifies(timeout=0.5, stop_after=1):
                pass
            continue
        if BROKEN:
            db.commit()
        charge(row[0])
        db.execute("insert into results (job) values (%s) on conflict do nothing", row)
        db.commit()

serve() if sys.argv[1] == "api" else work()
