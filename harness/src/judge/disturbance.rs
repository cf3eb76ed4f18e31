//! Whether a fault, or the harness itself, may be what brought something about.

use std::collections::BTreeSet;

use crate::history::{DeathCause, Entry, Event};
use crate::ids::FaultId;

/// What struck last, and what is at work.
#[derive(Debug, Default)]
pub(super) struct Disturbance {
    last: u64,
    outages: BTreeSet<FaultId>,
    at_work: BTreeSet<FaultId>,
}

impl Disturbance {
    /// Takes an entry in.
    pub(super) fn feed(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Armed {
                fault,
                outage: Some(_),
                ..
            } => {
                self.outages.insert(*fault);
                return;
            }
            // An outage lasts until it is over.
            Event::Triggered { fault, .. } => {
                if self.outages.contains(fault) {
                    self.at_work.insert(*fault);
                }
            }
            Event::Disarmed { fault } => {
                self.at_work.remove(fault);
            }
            Event::Exited { cause, .. } if *cause == DeathCause::Shutdown => return,
            Event::Injected { .. }
            | Event::NotForwarded { .. }
            | Event::Landed { .. }
            | Event::Missed { .. }
            | Event::Signalled { .. }
            | Event::Exited { .. }
            | Event::LeftStanding { .. }
            | Event::CutOff { .. }
            | Event::Reached { .. }
            | Event::Expired { .. }
            | Event::Redriven { .. } => {}
            _ => return,
        }
        self.last = entry.seq;
    }

    /// Whether anything struck since this place, or is at work.
    pub(super) fn is_since(&self, seq: u64) -> bool {
        self.last > seq || !self.at_work.is_empty()
    }
}
