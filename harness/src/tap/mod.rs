//! Taps stand on the wire between one process incarnation and one dependency.
//!
//! ```text
//! process ── connection ──▶ tap ── connection of its own ──▶ dependency
//!                           │
//!                           ├─ before: no byte of the call reached the dependency
//!                           └─ after:  the effect took place, no byte of the reply
//!                                      reached the process
//! ```
//!
//! A tap parses its protocol and asks a [`Director`] at both boundaries. It knows
//! nothing of messages, stages or faults: the director records the call, decides,
//! and may hold the call for as long as it likes. One upstream connection per
//! client connection; no pooling, no retries, no redirects.

mod call;
mod director;
mod gate;
mod line;
mod listener;
mod retreat;
pub(crate) mod wire;

pub use call::{Call, Reply, Request};
pub use director::{After, Before, Director, Discard, Side};
pub use gate::{Extent, Gate};
pub use line::Line;
pub use listener::{ConnectionContext, Tap, TapContext};

pub use crate::protocol::http::{HttpReply, HttpRequest};
pub use crate::protocol::postgres::{
    Bind, Copied, PgError, PgReply, PgRequest, Statement, TransactionStatus,
};
pub use crate::protocol::sqs::{Deletion, SqsReply, SqsRequest};
