//! How many messages stand where, and where the others went.

use serde::{Deserialize, Serialize};

/// The three counts that SQS calls approximate. Here they are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// To be received now.
    pub visible: u64,
    /// Received, not deleted, visibility not over.
    pub in_flight: u64,
    /// Sent with a delay that is not over.
    pub delayed: u64,
}

impl Counts {
    /// All messages in the queue.
    pub fn all(self) -> u64 {
        self.visible + self.in_flight + self.delayed
    }
}

/// What came and went since the queue was created. Always `sent + moved_in` =
/// the three counts + `deleted + expired + purged + dead_lettered + moved_out`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages that clients sent.
    pub sent: u64,
    /// Messages that came from another queue, as dead letters or by a move task.
    pub moved_in: u64,
    /// Deliveries; one message may have several.
    pub received: u64,
    /// Messages that clients deleted.
    pub deleted: u64,
    /// Messages dropped at the end of their retention.
    pub expired: u64,
    /// Messages dropped by a purge.
    pub purged: u64,
    /// Messages that went to the dead-letter queue.
    pub dead_lettered: u64,
    /// Messages that a move task took away.
    pub moved_out: u64,
}
