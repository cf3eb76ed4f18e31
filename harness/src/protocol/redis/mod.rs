//! Redis and Valkey: RESP2 and RESP3.
//!
//! ```text
//! client bytes ─▶ command ─▶ before? ─▶ gate ─▶ dependency
//! client ◀── after? ◀── whole answer ◀───────── dependency
//! ```
//!
//! **What a call is.** One command; of a transaction its EXEC, with all commands that were
//! queued: none of them has an effect before. A pipeline is taken command by command, each
//! forwarded when the one before it was answered, as the server does it too. MULTI, what is
//! queued, and what only sets a connection up (AUTH, HELLO, SELECT, CLIENT, COMMAND) are
//! passed on and are no calls.
//!
//! **What waits.** A BLPOP or an XREADGROUP that blocks is a call that was forwarded and not
//! answered. If its client goes away the tap ends its connection to the dependency and waits
//! for the dependency's own end; what is answered meanwhile is told as an answer that nobody
//! got.
//!
//! **What comes unasked.** Messages of channels and pushes of RESP3 go by as they come.
//!
//! **What is refused.** MONITOR, replication and CLIENT REPLY: behind them commands and
//! answers cannot be told apart any more.
//!
//! **Scripts** are calls like others, known by the keys that they name.

mod call;
mod client;
mod command;
mod connection;
pub(crate) mod describe;
pub(crate) mod elements;
mod ending;
mod key;
mod queue;
pub(crate) mod server;
mod service;
mod session;
pub(crate) mod subject;
#[cfg(test)]
mod tests;
mod value;
mod view;

use std::io;
use std::sync::Arc;

pub(crate) use self::call::pretended;
pub use self::call::{RedisReply, RedisRequest};
pub(crate) use self::client::Access;
pub use self::client::ClientError;
pub use self::command::Command;
pub(crate) use self::command::{is_known, is_receive, known};
pub use self::key::KeyPattern;
pub use self::queue::{Kind, RedisQueue};
pub use self::server::ServerError;
pub use self::service::ClaimError;
pub(crate) use self::service::{Expiry, RedisService};
pub use self::value::Value;
pub(crate) use self::view::View;
pub use self::view::{Item, QueueEffect};
use crate::tap::{Tap, TapContext};

/// Opens a tap before a server of whose queues nothing is known.
///
/// # Errors
/// When no port can be had.
pub async fn open(context: TapContext) -> io::Result<Tap> {
    open_before(context, Arc::default()).await
}

/// Opens a tap that tells what becomes of the elements of queues.
///
/// # Errors
/// When no port can be had.
pub(crate) async fn open_before(context: TapContext, view: Arc<View>) -> io::Result<Tap> {
    Tap::open(context, move |client, connection| {
        connection::serve(client, connection, Arc::clone(&view))
    })
    .await
}
