from common import *

table = database("orders (id uuid primary key, item text, packed_at timestamptz)")
while True:
    rows = table.execute("select id from orders where packed_at is null limit 1").fetchall()
    for order, in rows:
        table.execute("update orders set packed_at = now() where id = %s and packed_at is null", (order,))
    if not rows:
        time.sleep(0.05)
