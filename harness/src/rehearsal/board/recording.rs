//! Calls as they passed, with what was answered, while somebody learns a system from them.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::Board;
use super::calls::changes;
use crate::ids::{Author, MessageName};
use crate::shape::Shape;
use crate::tap::{Call, Reply};

/// How many calls are kept: a system whose timers never rest must not fill the memory.
const MOST: usize = 20_000;

/// A call that passed.
#[derive(Clone, Debug)]
pub struct Passed {
    /// The call.
    pub call: Arc<Call>,
    /// Its shape.
    pub shape: Shape,
    /// What was answered, if anything was.
    pub reply: Option<Arc<Reply>>,
    /// Whether it changed something for good.
    pub durable: bool,
}

impl Passed {
    /// Who made it.
    pub fn author(&self) -> &Author {
        &self.call.author
    }
}

impl Board {
    /// From now on calls are kept as they pass.
    pub(in crate::rehearsal) fn begin_recording(&self) {
        self.recorded().get_or_insert_default();
    }

    /// What passed since.
    pub(in crate::rehearsal) fn recording(&self) -> Vec<Passed> {
        self.recorded().clone().unwrap_or_default()
    }

    /// Every id that is known by now, with its message.
    pub(in crate::rehearsal) fn known_ids(&self) -> BTreeMap<String, MessageName> {
        self.state().aliases.known().clone()
    }

    pub(super) fn keep_call(&self, call: &Arc<Call>) {
        let mut recorded = self.recorded();
        let Some(recorded) = recorded.as_mut().filter(|recorded| recorded.len() < MOST) else {
            return;
        };
        recorded.push(Passed {
            call: Arc::clone(call),
            shape: Shape::of(&self.0.manifest, &self.0.queues, call),
            reply: None,
            durable: false,
        });
    }

    pub(super) fn keep_reply(&self, call: &Call, reply: &Arc<Reply>) {
        let mut recorded = self.recorded();
        let own = recorded
            .as_mut()
            .and_then(|recorded| recorded.iter_mut().rev().find(|one| one.call.id == call.id));
        if let Some(own) = own {
            own.reply = Some(Arc::clone(reply));
            own.durable = changes(call, reply);
        }
    }

    fn recorded(&self) -> MutexGuard<'_, Option<Vec<Passed>>> {
        self.0
            .recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
