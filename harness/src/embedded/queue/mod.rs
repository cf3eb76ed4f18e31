//! The embedded queue: a server of SQS queues, standard and FIFO, for rehearsals.
//!
//! ```text
//!  SDK ── HTTP ──▶ http ──▶ protocol (JSON 1.0, or form and XML) ──▶ action
//!                                                                    │
//!  harness ──────▶ admin (/_rehearsal/) ─────────────────────────▶ broker ──▶ journal
//!                                                                    │ one lock
//!                                                                  state (pure)
//! ```
//!
//! It follows what AWS states and refuses what it does
//! not do. It checks no credentials and serves loopback only. It is no production
//! queue.
//!
//! Choices where AWS leaves one:
//! - A message that comes back on show goes to the end, so that one that nobody can
//!   handle does not block the others; in a FIFO queue it keeps its place.
//! - An old handle deletes nothing once its message was delivered again; see
//!   [`QueueOptions::stale_handle_deletes`].
//! - The approximate counts are exact, and changes take effect at once.

mod action;
pub mod admin;
mod broker;
mod callers;
mod content;
mod digest;
mod error;
mod http;
mod journal;
mod moment;
mod protocol;
mod receipt;
mod refusal;
mod server;
mod settings;
mod state;

pub use callers::OWN_APPLICATION;
pub use error::QueueError;
pub use server::{QueueOptions, QueueServer};
pub use state::{Counts, Tally};

/// The sum by which clients check that a body arrived as sent.
pub(crate) fn md5_of(body: &[u8]) -> String {
    digest::of_bytes(body)
}
