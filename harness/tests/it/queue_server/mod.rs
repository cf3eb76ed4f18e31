//! The embedded queue server as its clients meet it: through the SDK, through bare
//! sockets, and across a kill.

#![expect(clippy::unwrap_used, reason = "tests, whose helpers may panic too")]

mod admin;
mod client;
mod journal;
mod leaving;
mod sdk;
mod serve;
mod wire;
