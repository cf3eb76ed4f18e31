//! What happened to each message, in order, and no more of it than a bound.

use std::collections::VecDeque;
use std::sync::Arc;

use uuid::Uuid;

use super::super::moment::Moment;
use super::super::receipt::Receipt;

/// The last entries, numbered from 1 since the start.
#[derive(Debug, Default)]
pub(crate) struct DeliveryLog {
    bound: usize,
    entries: VecDeque<Entry>,
    next: u64,
}

/// One thing that happened to one message.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) at: Moment,
    pub(crate) queue: Arc<str>,
    pub(crate) message: Uuid,
    pub(crate) receives: u32,
    pub(crate) event: Event,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Sent,
    Delivered(Receipt),
    Deleted,
    /// A delete by an old handle, which changed nothing.
    StaleDelete,
    VisibilityChanged,
    VisibilityEnded,
    DelayEnded,
    /// Made visible by the harness.
    ReceiptExpired,
    DuplicateAsked,
    /// A delete that was lost on request.
    Revived,
    RetentionEnded,
    DeadLettered,
    Moved,
    Purged,
}

impl DeliveryLog {
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            bound,
            entries: VecDeque::new(),
            next: 1,
        }
    }

    pub(super) fn write(
        &mut self,
        at: Moment,
        queue: &Arc<str>,
        message: Uuid,
        receives: u32,
        event: Event,
    ) {
        let number = self.next;
        self.next += 1;
        if self.bound == 0 {
            return;
        }
        if self.entries.len() == self.bound {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry {
            number,
            at,
            queue: Arc::clone(queue),
            message,
            receives,
            event,
        });
    }

    /// The entries after a number, oldest first.
    pub(crate) fn after(&self, number: u64) -> impl Iterator<Item = &Entry> {
        let first = self.entries.partition_point(|entry| entry.number <= number);
        self.entries.range(first..)
    }

    /// The number of the last entry ever written.
    pub(crate) fn last(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// How many entries the bound has pushed out.
    pub(crate) fn dropped(&self) -> u64 {
        self.last() - self.entries.len() as u64
    }
}
