//! A handle on the line between one tap and its clients: it can be taken down, and the
//! connections on it can be cut.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ids::ConnectionId;

/// The line of one tap. Clones are the same line.
#[derive(Clone)]
pub struct Line(Arc<Shared>);

struct Shared {
    /// Whether connections are to be refused.
    wanted: watch::Sender<bool>,
    /// Whether they are.
    refused: watch::Sender<bool>,
    /// Cancelled once nothing is accepted any more.
    over: CancellationToken,
    live: Mutex<BTreeMap<ConnectionId, Live>>,
}

/// What ends one connection.
struct Live {
    closing: CancellationToken,
    cut: CancellationToken,
}

/// A connection on the line, until it is dropped.
pub(super) struct OnLine {
    line: Line,
    id: ConnectionId,
}

impl Default for Line {
    fn default() -> Self {
        Self(Arc::new(Shared {
            wanted: watch::Sender::new(false),
            refused: watch::Sender::new(false),
            over: CancellationToken::new(),
            live: Mutex::default(),
        }))
    }
}

impl Line {
    /// From now on the operating system refuses connections. Returns once it does.
    /// Connections that were made before stay.
    pub async fn refuse(&self) {
        self.want(true);
        self.settled(true).await;
    }

    /// Connections are accepted again, at the same address. Returns once they are.
    pub async fn accept(&self) {
        self.want(false);
        self.settled(false).await;
    }

    /// Like [`Line::refuse`] and [`Line::accept`], without waiting.
    pub fn want(&self, refused: bool) {
        self.0.wanted.send_replace(refused);
    }

    /// Resets every connection that is there now: the client sees a reset, the
    /// dependency the end of the connection.
    pub fn cut(&self) {
        for live in self.live().values() {
            live.cut.cancel();
            live.closing.cancel();
        }
    }

    pub(super) async fn wanted(&self, refused: bool) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self
            .0
            .wanted
            .subscribe()
            .wait_for(|wanted| *wanted == refused)
            .await;
    }

    pub(super) fn is(&self, refused: bool) {
        self.0.refused.send_replace(refused);
    }

    async fn settled(&self, refused: bool) {
        let mut refusing = self.0.refused.subscribe();
        tokio::select! {
            _ = refusing.wait_for(|is| *is == refused) => {}
            () = self.0.over.cancelled() => {}
        }
    }

    /// Nothing is accepted any more, and nobody waits for it.
    pub(super) fn end(&self) {
        self.0.over.cancel();
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Live>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a connection on the line.
    pub(super) fn join(
        &self,
        id: ConnectionId,
        closing: CancellationToken,
        cut: CancellationToken,
    ) -> OnLine {
        self.live().insert(id, Live { closing, cut });
        OnLine {
            line: self.clone(),
            id,
        }
    }
}

impl Drop for OnLine {
    fn drop(&mut self) {
        self.line.live().remove(&self.id);
    }
}
