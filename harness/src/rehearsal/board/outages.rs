//! What outages make of calls and of their replies.

use std::collections::BTreeSet;

use super::Board;
use super::boundary::HeldGuard;
use crate::ids::{FaultId, MessageName};
use crate::outage::{Aftermath, Outages, Treatment};
use crate::tap::{After, Before, Call, Discard, Reply, Side};

impl Board {
    /// The outages of this rehearsal.
    pub(in crate::rehearsal) fn outages(&self) -> &Outages {
        &self.0.outages
    }

    /// A number for a fault or an outage.
    pub(in crate::rehearsal) fn next_fault(&self) -> FaultId {
        let mut state = self.state();
        state.fault_ids += 1;
        FaultId(state.fault_ids)
    }

    /// What becomes of a call while outages are on.
    pub(super) async fn outlast(&self, call: &Call, messages: &BTreeSet<MessageName>) -> Before {
        loop {
            match self.0.outages.before(call, messages) {
                Treatment::Forward => return Before::Forward,
                Treatment::Answer(reply) => {
                    // What was open there is aborted with it.
                    self.state().writing.remove(&call.connection);
                    return Before::Answer(reply);
                }
                Treatment::Discard(how) => return Before::Discard(how),
                Treatment::Wait(over) => {
                    let guard = HeldGuard::new(self.clone(), call, Side::Before);
                    over.await;
                    drop(guard);
                    if self.is_ending(&call.author) {
                        return Before::Discard(Discard::Close);
                    }
                }
            }
        }
    }

    /// What becomes of a reply.
    pub(super) async fn aftermath(&self, call: &Call, reply: &Reply) -> After {
        let aftermath = self.0.outages.after(call);
        if let Some(Aftermath::Replace(_) | Aftermath::Discard(_)) = aftermath {
            // Nobody has what a lost reply hands over.
            self.give_back(self.forget_delivered(call, reply));
        }
        match aftermath {
            None => After::Deliver,
            Some(Aftermath::Replace(reply)) => After::Replace(reply),
            Some(Aftermath::Discard(how)) => After::Discard(how),
            Some(Aftermath::Wait(over)) => {
                let guard = HeldGuard::new(self.clone(), call, Side::After);
                over.await;
                drop(guard);
                After::Deliver
            }
        }
    }
}
