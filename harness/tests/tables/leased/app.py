"""A claim is a time until which a row is somebody's: nothing has to tidy up after the dead."""
import asyncio, sys
import asyncpg
from base import BROKEN, URL, charge, serve

CLAIM = """update jobs set hidden_until = clock_timestamp() + interval '2 seconds', tries = tries + 1
    where id = (select id from jobs where not done and hidden_until <= clock_timestamp() order by id for update skip locked limit 1)
    returning id"""

async def work():
    db = await asyncpg.connect(URL)
    while True:
        job = await db.fetchval(CLAIM)
        if job is None:
            await asyncio.sleep(0.05)
            continue
        if BROKEN:
            await db.execute("update jobs set done = true where id = $1", job)
        await asyncio.to_thread(charge, job)
        async with db.transaction():
            await db.execute("insert into results (job) values ($1) on conflict do nothing", job)
            await db.execute("update jobs set done = true where id = $1", job)

serve() if sys.argv[1] == "api" else asyncio.run(work())
