//! How a connection ends on both sides.
//!
//! The dependency frees a client's locks when *it* has seen the end of the connection, so
//! a connection counts as ended only once the dependency's own end was read.

use std::sync::Arc;

use bytes::BytesMut;
use futures::FutureExt;

use super::connection::{Connection, Ending, Outstanding, tell};
use super::frame::{self, HEADER, Malformed};
use super::round_trip::{Progress, RoundTrip};
use crate::tap::wire::{self, Side};
use crate::tap::{Call, Discard, PgError, Reply, Side as Boundary};

impl Connection {
    /// Ends both sides, and says why.
    pub(super) async fn end(mut self, ending: Ending) -> String {
        let ending = match ending {
            Ending::Upstream(_) | Ending::Discarded(_) if self.context.tap.gate.is_closed() => {
                Ending::GateClosed
            }
            ending => ending,
        };
        match &ending {
            Ending::Malformed(malformed) => refuse(&mut self.client, malformed).await,
            Ending::Upstream(_) | Ending::Discarded(Discard::Close) => self.client.finish().await,
            // A client that is about to be killed must not see its connection end before.
            Ending::GateClosed => tokio::select! {
                () = self.client.drained() => {}
                () = self.context.closing.cancelled() => {}
            },
            Ending::Closing if self.context.cut.is_cancelled() => {
                let _ = self.client.stream.set_zero_linger();
            }
            Ending::Client(_)
            | Ending::Terminated
            | Ending::Closing
            | Ending::Discarded(Discard::Reset) => {}
        }
        let client = match ending {
            Ending::Discarded(Discard::Reset) => {
                // Closing sends a reset when nothing may linger.
                let _ = self.client.stream.set_zero_linger();
                None
            }
            Ending::Client(_) | Ending::Closing | Ending::GateClosed => None,
            _ => Some(()),
        };
        self.forget_scanned();
        let Self {
            context,
            client: side,
            mut upstream,
            mut session,
            outstanding,
            watch,
            ..
        } = self;
        let mut client = client.map(|()| side);
        let director = &context.tap.director;
        if let Some(call) = outstanding.as_ref().and_then(|it| it.call.as_ref()) {
            director.abandoned(call, Boundary::After);
        }
        upstream.finish().await;
        let mut late = outstanding.filter(|it| it.call.is_some());
        let last = late.as_ref().and_then(|it| it.call.clone());
        let mut told = futures::future::pending().boxed();
        let mut telling = true;
        loop {
            if let Some(whole) = late_reply(&mut late, &mut upstream.buffer, &mut session) {
                let (call, mut round_trip) = whole;
                let mut reply = round_trip.reply();
                reply.effects = tell(&watch, &context, &call, &mut round_trip).await;
                told = director.after(call, Arc::new(Reply::Postgres(reply)), false);
                telling = true;
            }
            if late.is_none() {
                upstream.buffer.clear();
            }
            tokio::select! {
                biased;
                // Nobody gets this reply, so nothing waits for what is decided on it.
                _ = &mut told, if telling => telling = false,
                read = upstream.fill() => if matches!(read, Ok(0) | Err(_)) { break },
                () = drained(&mut client) => client = None,
            }
        }
        for (call, effects) in watch.closed(context.id, last.as_ref()).await {
            director.queue_effects(&call, &effects);
        }
        reason(&ending)
    }
}

/// The rest of an answer whose client has gone, once it is whole.
fn late_reply(
    late: &mut Option<Outstanding>,
    buffer: &mut BytesMut,
    session: &mut super::round_trip::Session,
) -> Option<(Arc<Call>, RoundTrip)> {
    let outstanding = late.as_mut()?;
    loop {
        let (tag, length) = match frame::first(buffer, frame::from_server) {
            Ok(Some(found)) => found,
            Ok(None) => return None,
            Err(_) => {
                *late = None;
                return None;
            }
        };
        let bytes = buffer.split_to(length);
        match outstanding.round_trip.frame(tag, &bytes[HEADER..], session) {
            Ok(Progress::Whole) => {
                let Outstanding {
                    call, round_trip, ..
                } = late.take()?;
                return Some((call?, round_trip));
            }
            Ok(_) => {}
            Err(_) => {
                *late = None;
                return None;
            }
        }
    }
}

/// Waits for the client's own end, so that closing in order does not become a reset.
async fn drained(client: &mut Option<Side>) {
    match client {
        Some(client) => client.drained().await,
        None => std::future::pending().await,
    }
}

/// Tells a client why it is not served.
pub(super) async fn refuse(client: &mut Side, malformed: &Malformed) {
    let mut answer = BytesMut::new();
    let error = PgError {
        code: malformed.code().to_owned(),
        message: malformed.to_string(),
    };
    frame::put_error(&mut answer, "FATAL", &error);
    // It may be gone, or not listening; its connection ends either way.
    let _ = wire::write(&client.stream, &answer).now_or_never();
    client.finish().await;
}

fn reason(ending: &Ending) -> String {
    match ending {
        Ending::Client(reason) => format!("the client {reason}"),
        Ending::Terminated => "the client said goodbye".to_owned(),
        Ending::Closing => "the tap was closed".to_owned(),
        Ending::Upstream(reason) => format!("the dependency {reason}"),
        Ending::Discarded(Discard::Close) => "closed by a fault".to_owned(),
        Ending::Discarded(Discard::Reset) => "reset by a fault".to_owned(),
        Ending::GateClosed => "the gate was closed".to_owned(),
        Ending::Malformed(malformed) => format!("the client was refused: {malformed}"),
    }
}
