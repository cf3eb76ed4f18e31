//! Who decides at a boundary. Taps ask; the rehearsal (or a test) answers.

use std::net::SocketAddr;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::{Call, Extent, Reply};
use crate::ids::{Author, CallId, ConnectionId, DependencyName};
use crate::protocol::queue::QueueEffect;

/// Decides at both boundaries of every call, and is told what became of it.
///
/// A tap calls `before` when a call was read whole and not a byte of it was
/// forwarded, and `after` when its reply was read whole and not a byte of it was
/// delivered. Both record first and answer later: while the returned future is
/// pending the call is *held*. A tap that sees its client leave meanwhile drops
/// the future and reports [`Director::abandoned`], unless the call [is late](Director::is_late).
pub trait Director: Send + Sync + 'static {
    /// A number for the next call.
    fn next_call(&self) -> CallId;

    /// A client connected; the returned number is its connection's.
    fn connected(&self, author: &Author, dependency: &DependencyName) -> ConnectionId;

    /// The tap connected to the dependency from this address: for comparison with
    /// what the dependency saw.
    fn reached(&self, dependency: &DependencyName, local: SocketAddr) {
        let _ = (dependency, local);
    }

    /// A connection ended on both sides: the client is gone and the dependency's
    /// own end of the connection was seen (or it could never be reached).
    fn disconnected(&self, connection: ConnectionId, reason: &str);

    /// Before a call is forwarded.
    fn before(&self, call: Arc<Call>) -> BoxFuture<'static, Before>;

    /// How much of a call the dependency got, once that is known. Told before any
    /// reply can be seen.
    fn forwarded(&self, call: &Call, extent: Extent);

    /// Before a reply is delivered. Also called, with `deliverable` false, for a
    /// reply that came in after the client had gone: nobody will get it.
    fn after(
        &self,
        call: Arc<Call>,
        reply: Arc<Reply>,
        deliverable: bool,
    ) -> BoxFuture<'static, After>;

    /// Whether what is asked for by calls to a dependency over HTTP stands in their bodies,
    /// too: these are then held whole, as far as they fit into memory. If not, a long body is
    /// passed on as it comes.
    fn reads_bodies(&self, dependency: &DependencyName) -> bool {
        let _ = dependency;
        true
    }

    /// Whether something that is looked for stands in what a dependency answers over HTTP,
    /// too.
    fn reads_replies(&self, dependency: &DependencyName) -> bool {
        let _ = dependency;
        false
    }

    /// A body that was passed on as it came is over: how many bytes passed, their SHA-256,
    /// and whether it came to its end.
    fn streamed(&self, call: &Call, side: Side, len: u64, sha256: &[u8], whole: bool) {
        let _ = (call, side, len, sha256, whole);
    }

    /// A process announced a stage, and it was no announcement.
    fn misannounced(&self, author: &Author, reason: &str) {
        let _ = (author, reason);
    }

    /// Whether a call is merely late: it left its client's hands, and reaches its dependency
    /// although its client goes away meanwhile.
    fn is_late(&self, call: &Call) -> bool {
        let _ = call;
        false
    }

    /// What a call did to queues, seen after it was told of otherwise.
    fn queue_effects(&self, call: &Call, effects: &[QueueEffect]) {
        let _ = (call, effects);
    }

    /// What became of a call that was to misbehave: in words what was done, or why it could
    /// not be done and the call was passed on as it is.
    fn misbehaved(&self, call: &Call, outcome: Result<&str, &str>) {
        let _ = (call, outcome);
    }

    /// Resolves when a call is to be made again, or with false when it never is.
    fn moment(&self, call: &Call) -> BoxFuture<'static, bool> {
        let _ = call;
        Box::pin(async { false })
    }

    /// The client went away while the call was held at this side, or before its
    /// reply came ([`Side::After`]).
    fn abandoned(&self, call: &Call, side: Side);
}

/// Which of a call's two boundaries.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// No byte of the call reached the dependency.
    Before,
    /// The effect took place and no byte of the reply reached the caller.
    After,
}

/// What happens to a call that was held before the dependency.
#[derive(Clone, Debug)]
pub enum Before {
    /// Pass it on.
    Forward,
    /// Pass it on twice, over HTTP and to Redis; the client gets the second reply. A
    /// PostgreSQL connection repeats nothing and passes it on once.
    ForwardTwice,
    /// Pass it on over HTTP with this body instead of its own.
    ForwardInstead(bytes::Bytes),
    /// PostgreSQL alone: it takes place and is taken back, a commit with all that its
    /// transaction did. The client is answered as if it lasted. What became of it is told by
    /// [`Director::misbehaved`]; a call that cannot be treated so is passed on.
    TakeBack,
    /// PostgreSQL alone: a commit is answered at once, and made so much later. As above.
    AnswerFirst(std::time::Duration),
    /// PostgreSQL alone: the longest of its values gets there with one letter changed. As above.
    Spoil,
    /// Pass it on over HTTP, and make it again on a connection of its own: so much later, or
    /// else when [`Director::moment`] comes.
    ForwardAgain(Option<std::time::Duration>),
    /// The dependency never gets it; the client loses its connection.
    Discard(Discard),
    /// The dependency never gets it; the client gets this answer. In PostgreSQL an
    /// error also aborts the transaction at the dependency.
    Answer(Reply),
}

/// What happens to a reply that was held before the caller.
#[derive(Clone, Debug)]
pub enum After {
    /// Pass it on.
    Deliver,
    /// The client never gets it and loses its connection.
    Discard(Discard),
    /// The client gets this reply instead.
    Replace(Reply),
}

/// How the client loses its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Closed in order (FIN).
    Close,
    /// Reset (RST).
    Reset,
}
