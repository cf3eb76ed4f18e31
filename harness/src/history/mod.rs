//! The append-only record of all that the harness saw and did. One global order; an
//! entry stands in the file before the bytes it tells of are passed on.

mod blob;
mod event;
mod naming;
mod reader;
mod tally;
mod writer;

pub use blob::Blob;
pub use event::{Attribution, DeathCause, Entry, Event, Other, SCHEMA};
pub use reader::{UnreadableHistory, read, read_as_far};
pub use tally::Tally;
pub use writer::{History, HistoryError};
