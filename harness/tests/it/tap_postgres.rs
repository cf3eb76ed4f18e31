//! The tap between real clients and a real database server.

#![allow(missing_docs, unreachable_pub)]
#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do without may panic"
)]

mod boundaries;
mod copy;
mod durable;
mod endings;
mod injection;
mod misbehaving;
mod protocol;
mod raw;
mod recorder;
mod server;
mod stage;
mod transactions;
