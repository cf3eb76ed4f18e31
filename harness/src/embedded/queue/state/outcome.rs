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
    /// The message is not here (any more). SQS calls that a success.
    Gone,
    /// The handle is not the latest; SQS calls that a success as well.
    Stale,
    /// The handle's time is over, which a FIFO queue does not let pass.
    Expired,
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
