//! An account: everything that the history proves about one message.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{CallId, Incarnation};

/// What the history proves about one message.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Its job id, once the client knew it.
    pub job: Option<String>,
    /// Where its client learned that it was accepted.
    pub accepted: Option<u64>,
    /// Where each series begins: at its submission, and at every replay.
    pub series: Vec<u64>,
    /// Terminal passages: where, and which end (`terminal` in the manifest).
    pub ends: Vec<(u64, String)>,
    /// The calls at which it had an end.
    pub ended_at: BTreeSet<CallId>,
    /// Copies that a queue took, by `MessageId`, and where.
    pub sent: BTreeMap<String, u64>,
    /// Copies that were deleted, and where.
    pub deleted: BTreeMap<String, u64>,
    /// Its deliveries.
    pub delivered: Vec<u64>,
    /// Deletions by its receivers.
    pub deletions: Vec<Deletion>,
    /// Where it came to rest outside of all queues (`resting` in the manifest).
    pub rests: Option<u64>,
    /// Writes that an outside service performed for it.
    pub writes: Vec<u64>,
    /// Writes for it that were answered and not performed, because of their idempotency key.
    pub repetitions: Vec<u64>,
}

/// A deletion by a receiver.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// Where the queue's answer stands.
    pub at: u64,
    /// Where the call began.
    pub began: u64,
    /// The call.
    pub call: CallId,
    /// The copy, if its delivery was witnessed.
    pub copy: Option<String>,
    /// Who asked for it; none: no process of the system.
    pub by: Option<Incarnation>,
}

impl Account {
    /// Which series a place in the history belongs to, from 0.
    pub fn series_at(&self, seq: u64) -> usize {
        self.series
            .iter()
            .filter(|start| **start <= seq)
            .count()
            .saturating_sub(1)
    }

    /// The terminal passages of one series.
    pub fn ends_in(&self, series: usize) -> Vec<&(u64, String)> {
        self.ends
            .iter()
            .filter(|(seq, _)| self.series_at(*seq) == series)
            .collect()
    }

    /// Whether it was accepted and has, in its present series, neither an end nor a place
    /// to rest.
    pub fn is_unsettled(&self) -> bool {
        self.accepted.is_some()
            && self.ends_in(self.latest()).is_empty()
            && !self.rests.is_some_and(|seq| self.is_latest(seq))
    }

    /// Whether a queue took a copy of it in its present series.
    pub fn is_sent(&self) -> bool {
        self.sent.values().any(|seq| self.is_latest(*seq))
    }

    fn latest(&self) -> usize {
        self.series.len().saturating_sub(1)
    }

    fn is_latest(&self, seq: u64) -> bool {
        self.series_at(seq) == self.latest()
    }

    /// Copies that a queue took and that nobody deleted.
    pub fn left(&self) -> Vec<&String> {
        self.sent
            .keys()
            .filter(|copy| !self.deleted.contains_key(*copy))
            .collect()
    }
}
