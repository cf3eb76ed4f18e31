"""Ways in which the packer writes an invoice, or seems to."""

import os
import urllib.parse

import psycopg


FORM = os.environ.get("DESK_FORM", "plain")

INSERT = "INSERT INTO invoices (order_number, amount) VALUES (%s, %s)"


def rest(desk, this, number):
    desk.say("UPDATE orders SET state = 'invoiced' WHERE number = %s", number)
    desk.say("UPDATE tries SET fate = 'invoiced' WHERE id = %s", this)


def texts(number, amount):
    """Forms that are one transaction of these statements, before the rest of it."""
    row = f"({number}, {amount})"
    made = "WITH made AS ({} RETURNING 1) SELECT count(*) FROM made"
    nothing = f"INSERT INTO invoices (order_number, amount) SELECT {number}, {amount} WHERE false"
    into = "INTO {} (order_number, amount) VALUES " + row
    prepare = "PREPARE inv (bigint, bigint) AS INSERT INTO invoices VALUES ($1, $2)"
    return {
        "quoted": ['INSERT ' + into.format('"invoices"')],
        "qualified": ["INSERT " + into.format("PUBLIC.Invoices")],
        "commented": ["INSERT /* x */ " + into.format("invoices")],
        "literal": ["INSERT " + into.format("invoices")],
        "cte": [made.format("INSERT " + into.format("invoices"))],
        "cte-twice": 2 * [made.format("INSERT " + into.format("invoices") + " ON CONFLICT DO NOTHING")],
        "conflict-twice": 2 * ["INSERT " + into.format("invoices") + " ON CONFLICT DO NOTHING"],
        "execute": [prepare, f"EXECUTE inv {row}", "DEALLOCATE inv"],
        "cte-nothing": [made.format(nothing)],
        "explain": ["EXPLAIN INSERT " + into.format("invoices")],
        "prepare-only": [prepare, "DEALLOCATE inv"],
        "in-a-comment": ["SELECT 1 /* insert into invoices */"],
        "in-a-literal": [f"UPDATE tries SET reached = 'insert into invoices' WHERE order_number = {number}"],
        "do-nothing": [f"DO $$ BEGIN {nothing}; END $$"],
        "insert-then-delete": ["INSERT " + into.format("invoices"),
                               f"DELETE FROM invoices WHERE order_number = {number}"],
        "temporary": ["CREATE TEMP TABLE IF NOT EXISTS invoices (order_number bigint, amount bigint)",
                      "INSERT " + into.format("invoices")],
    }


def write(desk, this, number, amount):
    execute = desk.database.execute
    statements = texts(number, amount).get(FORM)
    if statements is not None:
        with desk.database.transaction():
            for statement in statements:
                execute(statement)
            rest(desk, this, number)
    elif FORM == "deleted-later":
        with desk.database.transaction():
            desk.say(INSERT, number, amount)
            rest(desk, this, number)
        desk.say("DELETE FROM invoices WHERE order_number = %s", number)
    elif FORM == "of-another-order":
        with desk.database.transaction():
            desk.say("INSERT INTO orders (ticket, article) SELECT 'beside ' || number, article FROM orders WHERE number = %s", number)
            desk.say("INSERT INTO invoices (order_number, amount) SELECT other.number, %s FROM orders own JOIN orders other"
                     " ON other.ticket = 'beside ' || own.number WHERE own.number = %s", amount, number)
            rest(desk, this, number)
    elif FORM == "pipeline":
        with desk.database.pipeline(), desk.database.transaction():
            desk.say(INSERT, number, amount)
            rest(desk, this, number)
    elif FORM == "savepoint":
        with desk.database.transaction():
            with desk.database.transaction():
                desk.say(INSERT, number, amount)
            rest(desk, this, number)
    elif FORM == "savepoint-rolled-back":
        with desk.database.transaction():
            with desk.database.transaction():
                desk.say(INSERT, number, amount)
                raise psycopg.Rollback()
            rest(desk, this, number)
    elif FORM == "many-in-one-query":
        execute(f"BEGIN; INSERT INTO invoices VALUES ({number}, {amount}); UPDATE orders SET"
                f" state = 'invoiced' WHERE number = {number}; COMMIT")
    elif FORM == "many-rolled-back":
        execute(f"BEGIN; INSERT INTO invoices VALUES ({number}, {amount}); ROLLBACK;"
                f" UPDATE orders SET state = 'invoiced' WHERE number = {number}")
    elif FORM in ("two-phase", "two-phase-undone"):
        execute("BEGIN")
        desk.say(INSERT, number, amount)
        rest(desk, this, number)
        execute(f"PREPARE TRANSACTION 'order-{number}'")
        end = "COMMIT" if FORM == "two-phase" else "ROLLBACK"
        execute(f"{end} PREPARED 'order-{number}'")
    elif FORM == "other-database":
        url = urllib.parse.urlparse(os.environ["DESK_DATABASE"])
        with psycopg.connect(url._replace(path="/postgres").geturl(), autocommit=True) as other:
            other.execute("CREATE TABLE IF NOT EXISTS invoices (order_number bigint, amount bigint)")
            other.execute(INSERT, (number, amount))
        rest(desk, this, number)
    else:
        with desk.database.transaction():
            desk.say(INSERT, number, amount)
            rest(desk, this, number)
