//! What operations on one queue came to.

use super::super::receipt::Receipt;
use super::message::Message;

/// A message handed out.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) receipt: Receipt,
    pub(crate) message: Message,
}

/// What a deletion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deletion {
    Deleted,
    /// The message is no more. SQS calls that a success.
    Gone,
    /// The message lies in another queue by now: a dead letter, most likely. SQS calls that
    /// a success.
    Moved,
    /// The handle is not the latest; SQS calls that a success as well.
    Stale,
    /// The handle's time is over, which a FIFO queue does not let pass.
    Expired,
}

impl Deletion {
    /// In a word, for whoever asks past the protocol, where success says nothing.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Gone => "gone",
            Self::Moved | Self::Stale | Self::Expired => "kept",
        }
    }
}

/// Why a visibility was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotChanged {
    Gone,
    Stale,
    NotInFlight,
    TooLong,
}

/// What expiring a receipt did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    MadeVisible,
    AlreadyVisible,
    Superseded,
    Gone,
}
