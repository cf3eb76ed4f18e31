//! What an outage makes of one call.

use futures::future::BoxFuture;

use super::{ErrorReply, Part, Way};
use crate::tap::{Call, Discard, Reply};

/// What becomes of a call before it reaches its dependency.
pub enum Treatment {
    /// It is passed on.
    Forward,
    /// The client gets this; the dependency gets nothing.
    Answer(Reply),
    /// The client loses its connection; the dependency gets nothing.
    Discard(Discard),
    /// It waits for this, and is looked at again then.
    Wait(BoxFuture<'static, ()>),
}

/// What becomes of a reply before it reaches its caller.
pub enum Aftermath {
    /// The client gets this instead.
    Replace(Reply),
    /// The client loses its connection.
    Discard(Discard),
    /// It waits for this, and is delivered then.
    Wait(BoxFuture<'static, ()>),
}

impl Part {
    /// Whether `only` describes this call.
    pub(super) fn describes(&self, call: &Call) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| call.request.asks().is_only(only))
    }
}

impl Way {
    /// Whether it does anything to this call at all.
    pub(super) fn concerns(&self, call: &Call) -> bool {
        *self != Self::ReadsOnly || call.request.asks().needs_writing()
    }
}

impl ErrorReply {
    /// The reply as the protocol of this call has it.
    pub(super) fn to(&self, call: &Call) -> Reply {
        let refusal = call.request.asks().refusal(&self.to_string());
        refusal.expect("a step refuses an answer that the protocol does not have")
    }
}
