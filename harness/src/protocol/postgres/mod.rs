//! The database tap: speaks enough of the v3 protocol to know what each round trip
//! executes, with which values, and when its effects became durable.
//!
//! ```text
//! client bytes ─▶ segment ─▶ round trip ─▶ before? ─▶ gate ─▶ dependency
//!                 (up to Sync,  (names       │
//!                  Flush or      resolved)   └─ answer, or lose the connection
//!                  Query)
//! client ◀─ after? ◀─ whole answer, up to ReadyForQuery ◀──── dependency
//! ```
//!
//! **What a call is.** One simple Query, or all messages up to a Sync, if it executes
//! something. A segment that only parses, describes or closes passes through the gate
//! without a call. Messages up to a Flush are a call of their own when they execute
//! something; the Sync that then ends their implicit transaction is a call with no
//! statements that commits. Segments are taken one at a time: what a client sends ahead
//! waits until the answer before it was delivered, and is not forwarded at all if the
//! client leaves before that.
//!
//! **What an answer is.** Everything up to `ReadyForQuery` (or all that Flush brings out),
//! held back whole. Two things pass earlier: rows beyond 8 MiB, of which the last part
//! with the last command tag is still held, and the invitation to send the rows of a
//! COPY, with those rows. The extent reported for a COPY is that of its statement.
//! Messages of `NOTIFY`, notices and parameter changes pass at once between round trips.
//!
//! **What is durable.** What the transaction executed, once a round trip ends it without
//! an error: `ReadyForQuery` says that none is open, or COMMIT itself completed, which the
//! server says only after it committed. So COMMIT AND CHAIN makes durable what came before
//! it, also though a transaction stays open. A COMMIT that answers ROLLBACK makes nothing
//! durable; statements rolled back to a savepoint are forgotten; PREPARE TRANSACTION makes
//! nothing durable, and COMMIT PREPARED, in whichever session, what was prepared. Commits
//! inside of a procedure are seen when the CALL ends. Statements that only mark a transaction
//! (BEGIN, SAVEPOINT, COMMIT …) are among a call's statements and not among the durable.
//! Rows that the same transaction deletes again, rows of temporary tables and rows in
//! another database than the declared one are durable for nobody.
//!
//! **Rows.** Where tables of the database are queues, the values of the rows of an answer are
//! read, also of a statement whose columns were described long before; nowhere else.
//!
//! **Faults.** An error in the dependency's place aborts the dependency's transaction too,
//! if one is open there: a statement that cannot be parsed is sent in it (the server's log
//! shows it). The client sees `E`, or `I` when none was open, or when it was COMMIT that
//! failed, which ends a transaction. An error in place of a reply that left a transaction
//! open does the same.

mod call;
mod columns;
mod connection;
mod copied;
mod copy;
mod ending;
mod frame;
mod injection;
mod message;
mod misbehaving;
mod names;
mod round_trip;
mod segment;
mod shared;
mod spelled;
mod startup;
pub(crate) mod subject;
mod table_names;
mod transaction;
mod undoing;
mod value;

use std::io;

pub use self::call::{Bind, Copied, PgError, PgReply, PgRequest, Statement, TransactionStatus};
pub use self::shared::{Prepared, Shared};

use crate::tap::{Tap, TapContext};

/// Opens a tap before a database server, whichever database its sessions are in.
///
/// # Errors
/// When no port can be had.
pub async fn open(context: TapContext) -> io::Result<Tap> {
    open_before(context, Shared::default()).await
}

/// Opens a tap before one database.
///
/// # Errors
/// When no port can be had.
pub async fn open_before(context: TapContext, shared: Shared) -> io::Result<Tap> {
    let keys = startup::Keys::default();
    Tap::open(context, move |client, connection| {
        startup::serve(client, connection, keys.clone(), shared.clone())
    })
    .await
}
