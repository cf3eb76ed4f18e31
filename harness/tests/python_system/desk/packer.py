"""The packer: prices orders, asks the carrier for one parcel each, writes invoices.

Each delivery is noted before it is looked at. A try that began and has no fate, while
nobody holds the order's lock, ended with the death of its packer and is held against the
order. At the limit the next delivery sets the order aside instead of trying it again.
"""

import json
import os
import sys

from . import database, outside, pricing, queue

LIMIT = int(os.environ.get("DESK_PATIENCE", "3"))


class Packer:
    def __init__(self):
        self.database = database.connect()
        self.queue = queue.connect()

    def run(self):
        while True:
            received = self.queue.receive_message(
                QueueUrl=queue.address(), MaxNumberOfMessages=1, WaitTimeSeconds=queue.LONGEST_WAIT
            )
            for copy in received.get("Messages", ()):
                if self.handle(copy):
                    self.queue.delete_message(
                        QueueUrl=queue.address(), ReceiptHandle=copy["ReceiptHandle"]
                    )

    def say(self, statement, *values):
        return self.database.execute(statement, values)

    def handle(self, copy):
        """Whether the copy is done with."""
        noted = self.say("INSERT INTO tries (copy) VALUES (%s) RETURNING id", copy["MessageId"])
        this = noted.fetchone()[0]
        order = json.loads(copy["Body"])
        number = order["number"]
        # Gone with this connection, so gone with this process.
        if not self.say("SELECT pg_try_advisory_lock(%s)", number).fetchone()[0]:
            self.say("UPDATE tries SET fate = 'left to another packer' WHERE id = %s", this)
            return False
        try:
            article = outside.article(order["article"])
            if self.begins(this, number, article, copy["Body"]):
                self.pack(this, number, article, copy["MessageId"])
            return True
        except (ValueError, OSError) as mishap:
            print(f"order {number}: {mishap}", file=sys.stderr)
            self.say(
                "UPDATE tries SET fate = 'failed', held_against = true WHERE id = %s", this
            )
            self.queue.change_message_visibility(
                QueueUrl=queue.address(), ReceiptHandle=copy["ReceiptHandle"], VisibilityTimeout=0
            )
            return False
        finally:
            self.say("SELECT pg_advisory_unlock(%s)", number)

    def begins(self, this, number, article, note):
        """Begins a try, unless the order is settled or is set aside now."""
        with self.database.transaction():
            state = self.say("SELECT state FROM orders WHERE number = %s FOR UPDATE", number)
            if state.fetchone()[0] != "open":
                self.say("UPDATE tries SET fate = 'settled before' WHERE id = %s", this)
                return False
            self.say(
                "UPDATE tries SET fate = 'died', held_against = true"
                " WHERE order_number = %s AND began AND fate IS NULL",
                number,
            )
            failed, reached = self.say(
                "SELECT count(*), (array_agg(reached ORDER BY id DESC))[1] FROM tries"
                " WHERE order_number = %s AND held_against",
                number,
            ).fetchone()
            reason = "too many tries" if failed >= LIMIT else None
            unanswered = "SELECT 1 FROM parcels WHERE order_number = %s AND answered_at IS NULL"
            if self.say(unanswered, number).fetchone():
                reason = "carrier did not answer"
            if reason is None:
                self.begin(this, number)
                return True
            self.say(
                "INSERT INTO set_aside (order_number, reason, tries, reached, article, note)"
                " VALUES (%s, %s, %s, %s, %s, %s)",
                number, reason, failed, reached, article, note.encode(),
            )
            self.say("UPDATE orders SET state = 'set aside' WHERE number = %s", number)
            self.say("UPDATE tries SET fate = 'set aside' WHERE id = %s", this)
            return False

    def begin(self, this, number):
        self.say("UPDATE tries SET began = true, order_number = %s WHERE id = %s", number, this)

    def pack(self, this, number, article, copy):
        self.say("UPDATE tries SET reached = 'pricing' WHERE id = %s", this)
        outside.announce("pricing", copy)
        amount = pricing.price(article)
        asked = "INSERT INTO parcels (order_number) VALUES (%s) ON CONFLICT DO NOTHING"
        if self.say(asked, number).rowcount:
            outside.parcel(number)
            self.say("UPDATE parcels SET answered_at = now() WHERE order_number = %s", number)
        with self.database.transaction():
            self.say("INSERT INTO invoices (order_number, amount) VALUES (%s, %s)", number, amount)
            self.say("UPDATE orders SET state = 'invoiced' WHERE number = %s", number)
            self.say("UPDATE tries SET fate = 'invoiced' WHERE id = %s", this)


def run():
    Packer().run()
