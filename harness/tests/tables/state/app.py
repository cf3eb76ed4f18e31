"""Functions of the database claim and finish; what the dead had in hand a sweep gives back."""
import sys, threading, time
import psycopg
from base import BROKEN, URL, charge, serve

def beat(me):
    with psycopg.connect(URL, autocommit=True) as db:
        while True:
            db.execute("insert into workers values (%s, clock_timestamp()) on conflict (id) do update set seen = clock_timestamp()", [me])
            if not BROKEN:
                db.execute("select give_back(interval '2 seconds')")
            time.sleep(0.3)

def work():
    db = psycopg.connect(URL, autocommit=True)
    (me,) = db.execute("select gen_random_uuid()").fetchone()
    threading.Thread(target=beat, args=[me], daemon=True).start()
    while True:
        job = db.execute("select take(%s)", [me]).fetchone()[0]
        if job is None:
            time.sleep(0.05)
            continue
        charge(job)
        db.execute("select finish(%s)", [job])

serve() if sys.argv[1] == "api" else work()
