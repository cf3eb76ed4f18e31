//! Messages that are passed on: a copy that its receiver sends on, to any tapped queue,
//! before it deletes the one in its hand, keeps the job somewhere. A relay between two
//! queues, a retry by a new copy and a redrive by hand all do so, any number of times.

use std::collections::{BTreeMap, HashMap};

use super::account::Deletion;
use super::{Evidence, Ledger};
use crate::history::Event;
use crate::ids::{Author, CallId, MessageName, RoleName};

/// Where copies were sent and received, by whom.
pub(super) struct Hops<'e> {
    sends: BTreeMap<&'e MessageName, Vec<Send<'e>>>,
    received: HashMap<&'e str, Vec<Receive<'e>>>,
}

struct Send<'e> {
    at: u64,
    copy: &'e str,
    queue: &'e str,
    /// Who sent it; none: the harness itself, or somebody who was not seen.
    by: Option<&'e Author>,
}

struct Receive<'e> {
    at: u64,
    queue: &'e str,
    by: &'e Author,
}

impl<'e> Hops<'e> {
    pub(super) fn of(evidence: Evidence<'e>, ledger: &'e Ledger) -> Self {
        let whose: HashMap<&str, &MessageName> = ledger
            .accounts
            .iter()
            .flat_map(|(message, account)| account.sent.keys().map(move |copy| (&**copy, message)))
            .collect();
        let mut callers: HashMap<CallId, &Author> = HashMap::new();
        let mut hops = Self {
            sends: BTreeMap::new(),
            received: HashMap::new(),
        };
        for entry in evidence.entries {
            match &entry.event {
                Event::Called { call, author, .. } => {
                    callers.insert(*call, author);
                }
                Event::Sent {
                    call,
                    queue,
                    message_id,
                    ..
                } => {
                    if let Some(message) = whose.get(message_id.as_str()) {
                        hops.sends.entry(message).or_default().push(Send {
                            at: entry.seq,
                            copy: message_id,
                            queue,
                            by: callers.get(call).copied(),
                        });
                    }
                }
                Event::Delivered {
                    author,
                    queue,
                    message_id,
                    ..
                } => {
                    let received = hops.received.entry(message_id).or_default();
                    received.push(Receive {
                        at: entry.seq,
                        queue,
                        by: author,
                    });
                }
                _ => {}
            }
        }
        hops
    }

    /// Whether a queue had taken a copy that carries the job on when this deletion began.
    pub(super) fn carried_on(&self, message: &MessageName, deletion: &Deletion) -> bool {
        self.onward(message, deletion)
            .any(|send| send.at < deletion.began)
    }

    /// Whether such a copy was taken, and only after the deletion: between the two a death
    /// would have lost the job.
    pub(super) fn carried_on_late(&self, message: &MessageName, deletion: &Deletion) -> bool {
        self.onward(message, deletion)
            .any(|send| send.at > deletion.began)
    }

    /// Copies that were sent on since the deleted one was first received. A copy of the
    /// same queue counts only if it comes from a role that received the deleted one: what
    /// a publisher sends twice was passed on by nobody.
    fn onward(
        &self,
        message: &MessageName,
        deletion: &Deletion,
    ) -> impl Iterator<Item = &Send<'e>> {
        let copy = deletion.copy.as_deref().unwrap_or_default();
        let received: &[Receive<'e>] = self.received.get(copy).map_or(&[], Vec::as_slice);
        let first = received.first().map_or(u64::MAX, |receive| receive.at);
        let sends = self.sends.get(message).map_or(&[][..], Vec::as_slice);
        sends.iter().filter(move |send| {
            let other_queue = received.iter().all(|receive| receive.queue != send.queue);
            let by_receiver = || {
                let sender = role(send.by);
                sender.is_none() || received.iter().any(|one| role(Some(one.by)) == sender)
            };
            send.copy != copy && send.at > first && (other_queue || by_receiver())
        })
    }
}

fn role(author: Option<&Author>) -> Option<&RoleName> {
    Some(&author?.incarnation()?.role)
}
