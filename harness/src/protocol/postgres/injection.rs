//! Replies that the director gives in the dependency's place.
//!
//! An error that only the client sees would leave the dependency's transaction intact, and
//! a later COMMIT would commit what the client believes failed. So the dependency's
//! transaction is made to fail too.

use bytes::{BufMut, BytesMut};

use super::connection::{Connection, Ending};
use super::frame;
use super::round_trip::RoundTrip;
use super::segment::{Cutter, End};
use crate::sql::Kind;
use crate::tap::{PgReply, TransactionStatus};

/// A statement that no server can parse. Its name keeps the unnamed statement intact.
const NAME: &str = "rehearsal_injected_error";
const TEXT: &str = "rehearsal fails this transaction on purpose";

impl Connection {
    /// Answers a round trip that the dependency never gets.
    pub(super) async fn answer(
        &mut self,
        round_trip: RoundTrip,
        reply: &PgReply,
    ) -> Result<(), Ending> {
        if reply.error.is_none() {
            return self.deliver_instead(&round_trip.success(reply)).await;
        }
        let transaction = &self.session.transaction;
        let open = transaction.status() == TransactionStatus::Open || transaction.awaits_sync();
        if open || round_trip.end == End::Flush {
            // A COMMIT that fails ends its transaction; any other statement leaves it failed.
            let commit = round_trip
                .executed()
                .find(|executed| executed.kind.is_control())
                .is_some_and(|executed| matches!(executed.kind, Kind::Commit { .. }));
            self.abort(round_trip.end, commit).await?;
        }
        self.deliver_error(&round_trip, reply).await
    }

    /// Gives the client another reply than the dependency's, which took effect.
    pub(super) async fn replace(
        &mut self,
        round_trip: &RoundTrip,
        reply: &PgReply,
    ) -> Result<(), Ending> {
        if reply.error.is_none() {
            return self.deliver_instead(&round_trip.success(reply)).await;
        }
        let failed = self.session.skipping;
        let open = self.session.transaction.status() == TransactionStatus::Open;
        if (open || round_trip.end == End::Flush) && !failed {
            self.abort(round_trip.end, false).await?;
        }
        self.deliver_error(round_trip, reply).await
    }

    /// The error, and what the dependency's transaction has come to. Between Flush and Sync
    /// an error stands alone, and the dependency skips what the client would skip.
    async fn deliver_error(
        &mut self,
        round_trip: &RoundTrip,
        reply: &PgReply,
    ) -> Result<(), Ending> {
        let mut answer = BytesMut::new();
        if let Some(error) = &reply.error {
            frame::put_error(&mut answer, "ERROR", error);
        }
        if round_trip.end != End::Flush {
            frame::put_ready(&mut answer, self.session.transaction.status());
        }
        self.deliver_instead(&answer).await
    }

    /// Makes the dependency's transaction fail, and ends it if `rollback`.
    async fn abort(&mut self, end: End, rollback: bool) -> Result<(), Ending> {
        let mut bytes = BytesMut::new();
        frame::put(&mut bytes, b'P', |body| {
            frame::put_text(body, NAME);
            frame::put_text(body, TEXT);
            body.put_u16(0);
        });
        frame::put(
            &mut bytes,
            if end == End::Flush { b'H' } else { b'S' },
            |_| {},
        );
        if rollback && end != End::Flush {
            frame::put(&mut bytes, b'Q', |body| frame::put_text(body, "ROLLBACK"));
        }
        let mut cutter = Cutter::default();
        while let Some(segment) = cutter.cut(&mut bytes)? {
            let round_trip = RoundTrip::begin(&segment, &mut self.session)?;
            self.send(segment.bytes.clone(), round_trip, None).await?;
            self.receive().await?;
            self.outstanding = None;
        }
        Ok(())
    }
}
