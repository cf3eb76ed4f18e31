//! Whose job and whose copy an id is, as a history tells it.

use std::collections::HashMap;

use super::Evidence;
use crate::history::Event;
use crate::ids::MessageName;

/// What ids mean. A system may send, receive or write before its client knows what for,
/// so a name may come after what it names.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    jobs: HashMap<String, MessageName>,
    copies: HashMap<String, MessageName>,
    /// Whether one id was said to mean two messages.
    contradicted: bool,
    /// Whether they come from the whole history: nothing is learnt any more.
    settled: bool,
}

impl Names {
    /// From a whole history in which an id means several messages: the last one counts.
    pub(super) fn settled(evidence: Evidence<'_>) -> Self {
        let mut names = Self::default();
        for entry in evidence.entries {
            if let Event::Accepted { message, job } = &entry.event {
                names.jobs.insert(job.clone(), message.clone());
            }
        }
        for entry in evidence.entries {
            let (copy, message) = match &entry.event {
                Event::Sent {
                    message_id,
                    message,
                    ids,
                    ..
                } => (
                    message_id,
                    message.as_ref().or_else(|| names.of_jobs(ids)).cloned(),
                ),
                Event::Delivered {
                    message_id,
                    message,
                    ..
                } => (message_id, message.clone()),
                Event::Alias { id, message } => (id, Some(message.clone())),
                _ => continue,
            };
            if let Some(message) = message {
                names.copies.insert(copy.clone(), message);
            }
        }
        names.settled = true;
        names
    }

    pub(super) fn are_contradicted(&self) -> bool {
        self.contradicted
    }

    pub(super) fn are_settled(&self) -> bool {
        self.settled
    }

    pub(super) fn of_job(&self, job: &str) -> Option<&MessageName> {
        self.jobs.get(job)
    }

    pub(super) fn of_jobs(&self, ids: &[String]) -> Option<&MessageName> {
        ids.iter().find_map(|id| self.jobs.get(id))
    }

    pub(super) fn of_copy(&self, copy: &str) -> Option<&MessageName> {
        self.copies.get(copy)
    }

    pub(super) fn learn_job(&mut self, job: &str, message: &MessageName) {
        if !self.settled {
            self.contradicted |= learn(&mut self.jobs, job, message);
        }
    }

    pub(super) fn learn_copy(&mut self, copy: &str, message: &MessageName) {
        if !self.settled {
            self.contradicted |= learn(&mut self.copies, copy, message);
        }
    }
}

/// True: it meant another message.
fn learn(names: &mut HashMap<String, MessageName>, id: &str, message: &MessageName) -> bool {
    if let Some(known) = names.get(id) {
        return known != message;
    }
    names.insert(id.to_owned(), message.clone());
    false
}
