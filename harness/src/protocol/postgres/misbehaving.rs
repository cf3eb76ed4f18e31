//! Round trips that misbehave as a broken system's would: taken back behind the client's
//! back, answered before they are made, or with another content than the client sent.
//!
//! ```text
//! take back    BEGIN or SAVEPOINT ─▶ the round trip ─▶ ROLLBACK (TO) ─▶ its answer to the client
//!              of a COMMIT: ROLLBACK, BEGIN ─▶ the COMMIT, of nothing ─▶ its answer
//! answer first COMMIT's answer to the client ─▶ wait ─▶ the COMMIT
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};

use super::connection::{Connection, Ending, Outstanding};
use super::frame;
use super::round_trip::RoundTrip;
use super::segment::{Cutter, End, Segment};
use crate::sql::Kind;
use crate::tap::{After, Call, Discard, PgReply, Reply, TransactionStatus};

/// Names that no program takes for its own.
const NAME: &str = "rehearsal_taken_back";

/// How a round trip is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It is a COMMIT: its transaction is undone before, and it commits nothing.
    Commit,
    /// It runs in a transaction of the client's: up to a savepoint.
    Savepoint,
    /// It runs by itself: in a transaction of its own.
    Alone,
}

impl Connection {
    /// Lets a round trip take place, undoes it, and answers as if it lasted.
    pub(super) async fn take_back(
        &mut self,
        segment: &Segment,
        round_trip: RoundTrip,
        call: &Arc<Call>,
    ) -> Result<(), Ending> {
        let way = match self.way(&round_trip) {
            Ok(way) => way,
            Err(reason) => {
                self.misbehaved(call, Err(reason));
                let (bytes, call) = (segment.bytes.clone(), Arc::clone(call));
                return self.pass_on(segment, bytes, round_trip, Some(call)).await;
            }
        };
        match way {
            Way::Commit => {
                self.command("ROLLBACK").await?;
                self.command("BEGIN").await?;
            }
            Way::Savepoint => self.command(&format!("SAVEPOINT {NAME}")).await?,
            Way::Alone => self.command("BEGIN").await?,
        }
        self.send(segment.bytes.clone(), round_trip, Some(Arc::clone(call)))
            .await?;
        if let Some(reason) = self.client.left.take() {
            return Err(Ending::Client(reason));
        }
        self.receive().await?;
        let Some(Outstanding { round_trip, .. }) = self.outstanding.take() else {
            return Ok(());
        };
        let mut answer = self.take_scanned();
        let failed = round_trip.error().is_some();
        let status = match way {
            Way::Commit => TransactionStatus::Idle,
            // What has failed by itself fails the client's transaction, as it would.
            Way::Savepoint if failed => TransactionStatus::Failed,
            Way::Savepoint => {
                let back = format!("ROLLBACK TO SAVEPOINT {NAME}");
                self.command(&back).await?;
                self.command(&format!("RELEASE SAVEPOINT {NAME}")).await?;
                TransactionStatus::Open
            }
            Way::Alone => {
                self.command("ROLLBACK").await?;
                TransactionStatus::Idle
            }
        };
        set_status(&mut answer, status);
        self.misbehaved(
            call,
            if failed {
                Err("it failed by itself: there was nothing to take back")
            } else {
                Ok("was answered as if it lasted, and taken back")
            },
        );
        let reply = PgReply {
            status,
            durable: Vec::new(),
            ..round_trip.reply()
        };
        match self.held_after(call, Reply::Postgres(reply)).await? {
            After::Deliver => {}
            After::Discard(discard) => return Err(Ending::Discarded(discard)),
            After::Replace(Reply::Postgres(reply)) => {
                return self.replace(&round_trip, &reply).await;
            }
            After::Replace(_) => return Err(Ending::Discarded(Discard::Close)),
        }
        self.deliver_instead(&answer).await
    }

    /// Answers a COMMIT, and makes it later. What its client sends meanwhile waits.
    pub(super) async fn answer_first(
        &mut self,
        segment: &Segment,
        round_trip: RoundTrip,
        call: &Arc<Call>,
        later: Duration,
    ) -> Result<(), Ending> {
        let way = self.way(&round_trip);
        if way != Ok(Way::Commit) {
            let reason = way.err().unwrap_or("only a COMMIT is answered first");
            self.misbehaved(call, Err(reason));
            let (bytes, call) = (segment.bytes.clone(), Arc::clone(call));
            return self.pass_on(segment, bytes, round_trip, Some(call)).await;
        }
        let done = PgReply {
            tags: vec!["COMMIT".to_owned()],
            error: None,
            status: TransactionStatus::Idle,
            durable: Vec::new(),
            effects: Vec::new(),
        };
        self.misbehaved(call, Ok("was answered before it was made"));
        self.deliver_instead(&round_trip.success(&done)).await?;
        tokio::select! {
            () = tokio::time::sleep(later) => {}
            () = self.context.closing.cancelled() => return Err(Ending::Closing),
        }
        let bytes = segment.bytes.clone();
        self.send(bytes, round_trip, Some(Arc::clone(call))).await?;
        self.receive().await?;
        let Some(Outstanding { round_trip, .. }) = self.outstanding.take() else {
            return Ok(());
        };
        let reply = Arc::new(Reply::Postgres(round_trip.reply()));
        let director = Arc::clone(&self.context.tap.director);
        director.after(Arc::clone(call), reply, false).await;
        self.deliver_instead(&[]).await
    }

    /// Passes a round trip on with one letter of its longest value changed.
    pub(super) async fn spoil(
        &mut self,
        segment: &Segment,
        round_trip: RoundTrip,
        call: &Arc<Call>,
    ) -> Result<(), Ending> {
        let spoilt = segment.spoilt();
        self.misbehaved(
            call,
            match &spoilt {
                Some(_) => Ok("got there with a letter changed"),
                None => Err("none of its values is a text of any length"),
            },
        );
        let bytes = spoilt.unwrap_or_else(|| segment.bytes.clone());
        self.pass_on(segment, bytes, round_trip, Some(Arc::clone(call)))
            .await
    }

    fn misbehaved(&self, call: &Call, outcome: Result<&str, &str>) {
        self.context.tap.director.misbehaved(call, outcome);
    }

    /// How a round trip can be taken back, if it can.
    fn way(&self, round_trip: &RoundTrip) -> Result<Way, &'static str> {
        if !matches!(round_trip.end, End::Sync | End::Query) {
            return Err("it does not end with a Sync, and more may belong to it");
        }
        if self.watch.is_needed() {
            return Err("tables of this database are queues, of which rows are told by the wire");
        }
        let mut kinds = round_trip.executed().map(|executed| &executed.kind);
        let (first, more) = (kinds.next(), kinds.next().is_some());
        let Some(first) = first else {
            return Err("it executes nothing");
        };
        let transaction = &self.session.transaction;
        let is_control = round_trip
            .executed()
            .any(|executed| executed.kind.is_control());
        match (transaction.status(), first) {
            (TransactionStatus::Open, Kind::Commit { chain: false }) if !more => Ok(Way::Commit),
            _ if is_control => Err("it begins or ends a transaction along with something else"),
            (_, Kind::CopyIn(_)) => Err("rows come after it"),
            (TransactionStatus::Open, _) => Ok(Way::Savepoint),
            (TransactionStatus::Idle, _) if !transaction.awaits_sync() => Ok(Way::Alone),
            _ => Err("its transaction has failed, or is not over"),
        }
    }

    /// Executes a command of the tap's own, which leaves the unnamed statement as it is.
    async fn command(&mut self, text: &str) -> Result<(), Ending> {
        let mut bytes = BytesMut::new();
        frame::put(&mut bytes, b'P', |body| {
            frame::put_text(body, NAME);
            frame::put_text(body, text);
            body.put_u16(0);
        });
        frame::put(&mut bytes, b'B', |body| {
            frame::put_text(body, NAME);
            frame::put_text(body, NAME);
            body.put_u16(0);
            body.put_u16(0);
            body.put_u16(0);
        });
        frame::put(&mut bytes, b'E', |body| {
            frame::put_text(body, NAME);
            body.put_u32(0);
        });
        // A portal lives as long as its transaction, and no second one may have its name.
        for of in [b'P', b'S'] {
            frame::put(&mut bytes, b'C', |body| {
                body.put_u8(of);
                frame::put_text(body, NAME);
            });
        }
        frame::put(&mut bytes, b'S', |_| {});
        let mut cutter = Cutter::default();
        while let Some(segment) = cutter.cut(&mut bytes)? {
            let round_trip = RoundTrip::begin(&segment, &mut self.session)?;
            self.send(segment.bytes.clone(), round_trip, None).await?;
            self.receive().await?;
            let done = self.outstanding.take();
            let failure = done.as_ref().and_then(|done| done.round_trip.error());
            if let Some(error) = failure {
                let reason = format!("refused `{text}` of the tap: {}", error.message);
                return Err(Ending::Upstream(reason));
            }
        }
        // What the server tells without being asked goes on.
        self.deliver_instead(&[]).await
    }
}

/// Writes another status into the `ReadyForQuery` at the end of an answer.
fn set_status(answer: &mut BytesMut, status: TransactionStatus) {
    let end = answer.len();
    if end < 6 || answer[end - 6] != b'Z' {
        return;
    }
    answer[end - 1] = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::Open => b'T',
        TransactionStatus::Failed => b'E',
    };
}

impl Segment {
    /// Its bytes with one letter of the longest text among its values changed.
    fn spoilt(&self) -> Option<Bytes> {
        let values = self.values().into_iter().filter_map(|at| {
            let spoilt = crate::protocol::spoilt(&self.bytes[at.clone()])?;
            Some((at, spoilt))
        });
        let (longest, spoilt) = values.max_by_key(|(at, _)| at.len())?;
        let mut bytes = BytesMut::from(&self.bytes[..]);
        bytes[longest].copy_from_slice(&spoilt);
        Some(bytes.freeze())
    }
}
