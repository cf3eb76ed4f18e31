//! Processes that are cut off from everything: a fault that a step orders, and that has to
//! be seen like any other.

use super::Board;
use crate::history::Event;
use crate::ids::{FaultId, Incarnation, RoleName};

impl Board {
    /// A process is about to be cut off.
    pub(in crate::rehearsal) fn begin_cut(&self, incarnation: &Incarnation) -> FaultId {
        let fault = self.next_fault();
        self.0.history.append(Event::Armed {
            fault,
            text: format!("{incarnation} is cut off from everything"),
            expected: 1,
            outage: None,
        });
        self.0.history.append(Event::Triggered {
            fault,
            call: None,
            message: None,
        });
        fault
    }

    /// It was seen to be cut off.
    pub(in crate::rehearsal) fn cut(&self, fault: FaultId, incarnation: &Incarnation) {
        let incarnation = incarnation.clone();
        let evidence = format!("{incarnation} is in no network");
        self.0.history.append(Event::CutOff { incarnation });
        self.0.history.append(Event::Landed { fault, evidence });
    }

    /// It is reached again.
    pub(in crate::rehearsal) fn reached(&self, role: &RoleName, instance: u32) {
        let role = role.clone();
        self.0.history.append(Event::Reached { role, instance });
    }
}
