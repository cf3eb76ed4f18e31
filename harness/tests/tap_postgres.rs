//! The tap between real clients and a real database server.

#![allow(missing_docs, unreachable_pub)]
#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do without may panic"
)]

#[path = "tap_postgres/boundaries.rs"]
mod boundaries;
#[path = "tap_postgres/endings.rs"]
mod endings;
#[path = "tap_postgres/injection.rs"]
mod injection;
#[path = "tap_postgres/protocol.rs"]
mod protocol;
#[path = "tap_postgres/raw.rs"]
mod raw;
#[path = "tap_postgres/recorder.rs"]
mod recorder;
#[path = "tap_postgres/server.rs"]
mod server;
#[path = "tap_postgres/stage.rs"]
mod stage;
#[path = "tap_postgres/transactions.rs"]
mod transactions;
