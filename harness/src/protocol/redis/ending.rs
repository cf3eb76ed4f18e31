//! How a connection ends on both sides. It has ended only once the dependency's own end
//! was read: a pop that waits takes nothing any more then.

use std::sync::Arc;

use futures::FutureExt;

use super::connection::{Connection, Ending, next_frame, reply_to};
use crate::tap::wire::{self, Side};
use crate::tap::{Discard, Side as Boundary};

impl Connection {
    /// Ends both sides, and says why.
    pub(super) async fn end(mut self, ending: Ending) -> String {
        match &ending {
            Ending::Malformed(malformed) => {
                let answer = format!("-ERR Protocol error: {malformed}\r\n");
                // It may be gone, or not listening; its connection ends either way.
                let _ = wire::write(&self.client.stream, answer.as_bytes()).now_or_never();
                self.client.finish().await;
            }
            Ending::Upstream(_) | Ending::Discarded(Discard::Close) => self.client.finish().await,
            // A client that is about to be killed must not see its connection end before.
            Ending::GateClosed => tokio::select! {
                () = self.client.drained() => {}
                () = self.context.closing.cancelled() => {}
            },
            Ending::Closing if !self.context.cut.is_cancelled() => {}
            Ending::Closing | Ending::Discarded(Discard::Reset) => {
                // Closing sends a reset when nothing may linger.
                let _ = self.client.stream.set_zero_linger();
            }
            Ending::Client(_) => {}
        }
        let stays = matches!(
            ending,
            Ending::Malformed(_) | Ending::Upstream(_) | Ending::Discarded(Discard::Close)
        );
        let Self {
            context,
            client,
            mut upstream,
            mut session,
            mut scanner,
            outstanding: mut late,
            view,
            ..
        } = self;
        // Whoever need not read to the end is closed at once.
        let mut client = stays.then_some(client);
        let director = &context.tap.director;
        if let Some(call) = &late {
            director.abandoned(call, Boundary::After);
        }
        upstream.finish().await;
        let mut told = futures::future::pending().boxed();
        let mut telling = true;
        loop {
            while late.is_some() {
                match next_frame(&mut upstream.buffer, &mut scanner) {
                    Ok(Some((_, value))) if session.takes_push(&value) => {}
                    Ok(Some((_, value))) => {
                        if let Some(call) = late.take() {
                            let reply = Arc::new(reply_to(&call, value, &view));
                            told = director.after(call, reply, false);
                            telling = true;
                        }
                    }
                    Ok(None) => break,
                    Err(_) => late = None,
                }
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
        reason(&ending)
    }
}

/// Waits for the client's own end, so that closing in order does not become a reset.
async fn drained(client: &mut Option<Side>) {
    match client {
        Some(client) => client.drained().await,
        None => std::future::pending().await,
    }
}

fn reason(ending: &Ending) -> String {
    match ending {
        Ending::Client(reason) => format!("the client {reason}"),
        Ending::Closing => "the tap was closed".to_owned(),
        Ending::Upstream(reason) => format!("the dependency {reason}"),
        Ending::Discarded(Discard::Close) => "closed by a fault".to_owned(),
        Ending::Discarded(Discard::Reset) => "reset by a fault".to_owned(),
        Ending::GateClosed => "the gate was closed".to_owned(),
        Ending::Malformed(malformed) => format!("the client was refused: {malformed}"),
    }
}
