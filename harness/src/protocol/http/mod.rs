//! The HTTP tap: HTTP/1.1 on both sides, each request one call.
//!
//! Requests and replies are read whole before they are passed on, as far as they are to
//! be held: 64 MiB of a request where something that is looked for stands in bodies, 1 MiB
//! otherwise and of replies. What is longer is decided on by its head and its beginning,
//! and passed on as it comes, at the pace of whoever takes it; so is a reply without a
//! length that is not whole within 50 ms, and a stream of events at once. A fault that
//! needs the whole body (one that repeats it) misses there and says so. What is whole
//! arrives with a content-length, trailers and interim replies (1xx) are left out,
//! `Expect: 100-continue` is answered here. Upgrades are not passed on. TLS and
//! HTTP/2 without a first HTTP/1.1 request are refused with a reply that says so.
//!
//! **A client that closes its sending side counts as gone**: on loopback the two look
//! the same. Its call is abandoned if held, and a reply that still comes is reported
//! as one that nobody gets. Requests it sent ahead of a call that was abandoned are
//! not calls.
//!
//! **A dependency that can't be reached**: the tap listens whether or not the dependency
//! does, so the client can connect and send. Its call is then recorded with nothing
//! forwarded and a broken reply, and its connection is reset: the client sees a reset
//! where it would have seen a refusal.
//!
//! **A dependency that ends an idle connection** ends the client's too. Only if it does so
//! while a call is held, of which it got no byte, the call goes out on a new connection:
//! a hold must not become a failure of the harness's own making.
//!
//! **After the gate has closed** no further request becomes a call, no reply is
//! delivered, and the client's connection is left as it is until the process is gone.

pub(crate) mod body;
mod call;
mod chunked;
pub(crate) mod client;
pub(crate) mod connection;
pub(crate) mod dialect;
pub(crate) mod message;
pub(crate) mod reader;
mod streaming;
mod subject;
mod upstream;

use std::io;

pub use self::call::{HttpReply, HttpRequest};
use crate::tap::{Tap, TapContext};

/// Opens a tap in front of an HTTP service.
///
/// # Errors
/// When no port can be had.
pub async fn open(context: TapContext) -> io::Result<Tap> {
    Tap::open(context, |stream, connection| {
        connection::serve(stream, connection, dialect::Plain)
    })
    .await
}
