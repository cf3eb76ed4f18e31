//! The append-only record of all that the harness saw and did. One global order; an
//! entry stands in the file before the bytes it tells of are passed on.

mod blob;
mod event;
mod kinds;
mod masking;
mod naming;
mod reader;
mod shelf;
mod tally;
mod text;
mod thin;
mod writer;

pub use blob::Blob;
pub(crate) use blob::hex;
pub use event::{Attribution, Content, DeathCause, Entry, Event, Other, SCHEMA};
pub use reader::{UnreadableHistory, read, read_as_far};
pub use tally::{Made, Tally};
pub use text::{Shared, Text, Words};
#[cfg(test)]
pub(crate) use thin::thin;
pub use writer::{History, HistoryError, Said};
