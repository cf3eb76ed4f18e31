//! What the board knows of one rehearsal at this moment.

use std::collections::{BTreeMap, BTreeSet};

use super::super::aliases::Aliases;
use super::super::deliveries::Deliveries;
use crate::fault::Fault;
use crate::ids::{Author, CallId, ConnectionId, FaultId, Incarnation, MessageName, RoleName};

#[derive(Default)]
pub(super) struct State {
    pub(super) calls: u64,
    pub(super) connections: u64,
    pub(super) faults: Vec<Armed>,
    pub(super) aliases: Aliases,
    pub(super) deliveries: Deliveries,
    pub(super) submitting: BTreeSet<MessageName>,
    pub(super) held: BTreeMap<CallId, String>,
    pub(super) living: BTreeMap<Incarnation, Life>,
    pub(super) receives: BTreeMap<Incarnation, Receive>,
    /// Incarnations that made the call which shows that they are ready.
    pub(super) called: BTreeSet<Incarnation>,
    /// By the timer's place in the manifest.
    pub(super) ticks: BTreeMap<(usize, Incarnation), Tick>,
    /// Connections with a transaction that wrote something and is still open.
    pub(super) writing: BTreeMap<ConnectionId, Author>,
    pub(super) effects: BTreeMap<Author, u64>,
    pub(super) announced: BTreeMap<MessageName, RoleName>,
    pub(super) bodies: BTreeMap<MessageName, String>,
}

pub(super) struct Armed {
    pub(super) id: FaultId,
    pub(super) fault: Fault,
    pub(super) passages: u32,
    pub(super) landed: u32,
    pub(super) disarmed: bool,
}

/// What is known of a timer. What a tick finds is dealt with before the next begins, so
/// a tick is over only then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tick {
    /// Where the latest tick began.
    pub(super) began: u64,
    /// Where the tick before it began: the last one that is over.
    pub(super) over: Option<u64>,
}

/// What an incarnation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rehearsal) enum Life {
    Running,
    Stopped,
    Ending,
}

/// The latest receive of a consumer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    pub(super) call: CallId,
    pub(super) began: u64,
    /// Still open, or ended without a message.
    pub(super) empty_handed: bool,
}
impl Armed {
    /// Whether quiet must wait for it: it was to land so often and may still do so.
    pub(super) fn is_pending(&self) -> bool {
        !self.disarmed && !self.fault.times.is_over(self.passages) && self.landed < self.passages
    }
}

impl State {
    pub(super) fn in_hand(&self, author: &Author) -> BTreeSet<MessageName> {
        let Some(incarnation) = author.incarnation() else {
            return BTreeSet::new();
        };
        let unsettled = self.deliveries.unsettled_of(incarnation);
        unsettled
            .into_iter()
            .filter_map(|delivery| delivery.message.clone())
            .collect()
    }

    /// The one message that an author has in hand, if it is one.
    pub(super) fn sole_in_hand(&self, author: &Author) -> Option<MessageName> {
        let incarnation = author.incarnation()?;
        let held = self.deliveries.held_by(incarnation);
        let unsettled = self.deliveries.unsettled_of(incarnation);
        match (held.as_slice(), unsettled.as_slice()) {
            ([one], _) | ([], [one]) => one.message.clone(),
            _ => None,
        }
    }
}
