//! What the harness's client and the services it plays tell of messages.

use super::Board;
use super::state::DeliveredMessage;
use super::unclear::About;
use crate::history::{Event, Other};
use crate::ids::{Author, CallId, DependencyName, MessageName, RoleName};
use crate::stub::Performed;

impl Board {
    pub(in crate::rehearsal) fn declare(
        &self,
        message: &MessageName,
        kills: Option<RoleName>,
        ids: &[&str],
    ) {
        self.0.outages.declare(message);
        let mut state = self.state();
        for id in ids {
            state.learn(id, message);
        }
        self.clear(&mut state);
        state.declared += 1;
        if let Some(role) = kills {
            state.announced.insert(message.clone(), role);
        }
    }

    /// Whether an id, or a name, is one of this message.
    pub(in crate::rehearsal) fn means(&self, id: &str, message: &MessageName) -> bool {
        id == message.as_str() || self.state().aliases.get(id) == Some(message)
    }

    /// All ids that mean a message.
    pub(in crate::rehearsal) fn ids(&self) -> Vec<(String, MessageName)> {
        self.state().aliases.all()
    }

    /// The harness is about to put a message on a queue.
    pub(in crate::rehearsal) fn putting(&self, message: &MessageName, body: &str) {
        let mut state = self.state();
        state.learn(message.as_str(), message);
        drop(state);
        self.putting_copy(message, body);
        let content = self.0.history.blob(body.as_bytes());
        self.0.history.append(Event::Declared {
            message: message.clone(),
            kind: "foreign".to_owned(),
            kills: None,
            content,
        });
    }

    /// The harness is about to put a copy of a known message on a queue.
    pub(in crate::rehearsal) fn putting_copy(&self, message: &MessageName, body: &str) {
        let foreign = &mut self.state().foreign;
        foreign.push((body.to_owned(), message.clone()));
    }

    /// The queue took it.
    pub(in crate::rehearsal) fn put(&self, message: &MessageName, queue: &str, message_id: &str) {
        {
            let mut state = self.state();
            state.learn(message_id, message);
            state.foreign.retain(|(_, waiting)| waiting != message);
        }
        let call = self.own_call();
        self.0.history.append(Event::Alias {
            id: message_id.to_owned(),
            message: message.clone(),
        });
        let seq = self.0.history.append(Event::Sent {
            call,
            queue: queue.to_owned(),
            message_id: message_id.to_owned(),
            message: Some(message.clone()),
            ids: Vec::new(),
        });
        let mut state = self.state();
        state.effects.note(&Author::Client, seq);
        self.clear(&mut state);
        drop(state);
        self.0.history.nudge();
    }

    pub(in crate::rehearsal) fn submitting(&self, message: &MessageName) {
        self.state().submitting.insert(message.clone());
        self.0.history.append(Event::Submitting {
            message: message.clone(),
        });
    }

    pub(in crate::rehearsal) fn accepted(&self, message: &MessageName, job: &str) {
        let seq = self.0.history.append(Event::Accepted {
            message: message.clone(),
            job: job.to_owned(),
        });
        let mut state = self.state();
        state.learn(job, message);
        state.effects.note(&Author::Client, seq);
        self.clear(&mut state);
        state.submitting.remove(message);
        state.unanswered.remove(message);
        drop(state);
        self.0.history.nudge();
    }

    pub(in crate::rehearsal) fn refused(&self, message: &MessageName, reason: &str) {
        self.0.history.append(Event::Refused {
            message: message.clone(),
            reason: reason.to_owned(),
        });
        let mut state = self.state();
        state.submitting.remove(message);
        if self.0.history.tally(|tally| tally.job(message).is_none()) {
            state.unanswered.insert(message.clone());
        }
        self.adopt_copies(&mut state);
        drop(state);
        self.0.history.nudge();
    }

    /// An outside service has answered a request.
    pub(in crate::rehearsal) fn performed(
        &self,
        dependency: &DependencyName,
        request: String,
        job: Option<String>,
        performed: &Performed,
    ) {
        let message = job
            .as_ref()
            .and_then(|job| self.state().aliases.get(job).cloned());
        if performed.stray {
            self.doubt_once(&format!(
                "`{dependency}` was asked for `{request}`, which fits none of its routes in the manifest: add the route"
            ));
        }
        if performed.write && message.is_none() && performed.group.is_none() {
            self.note_strange_write(dependency, performed);
        }
        let others = performed.others.iter().map(|job| Other {
            job: job.clone(),
            message: self.state().aliases.get(job).cloned(),
        });
        let others = others.collect();
        let dependency = dependency.clone();
        let unnamed = job.clone().filter(|_| message.is_none());
        let mut state = self.state();
        let entry = self.0.history.append(Event::Performed {
            dependency,
            request,
            route: performed.route.clone(),
            write: performed.write,
            repeated: performed.repeated,
            message,
            job,
            others,
            group: performed.group.clone(),
            bare: performed.is_bare(),
            status: performed.status,
        });
        if let Some(job) = unnamed {
            Self::keep_unnamed(&mut state, entry, &[job], About::Entry);
        }
    }

    /// A message of a dead-letter queue was put back on the queue that it came from.
    pub(in crate::rehearsal) fn redriving(&self, queue: &str, from: &str, to: &str) {
        let message = self.state().aliases.get(from).cloned();
        if let Some(message) = message {
            self.put(&message, queue, to);
            return;
        }
        let call = self.own_call();
        let seq = self.0.history.append(Event::Sent {
            call,
            queue: queue.to_owned(),
            message_id: to.to_owned(),
            message: None,
            ids: Vec::new(),
        });
        self.state().effects.note(&Author::Client, seq);
    }

    /// And it is gone from the dead-letter queue.
    pub(in crate::rehearsal) fn redriven(&self, from: &str, to: &str, receipt: String) {
        let call = self.own_call();
        let message = self.state().aliases.get(from).cloned();
        self.0.history.append(Event::Deleted {
            call,
            author: Author::Client,
            receipt,
            message_id: Some(from.to_owned()),
            message: message.clone(),
            kept: None,
        });
        let seq = self.0.history.append(Event::Redriven {
            from: from.to_owned(),
            to: to.to_owned(),
            message,
        });
        self.state().effects.note(&Author::Client, seq);
        self.0.history.nudge();
    }

    /// A number for a call that the harness made itself, past the taps.
    fn own_call(&self) -> CallId {
        let mut state = self.state();
        state.calls += 1;
        CallId(state.calls)
    }

    /// What the queue delivered of a message, the first time.
    pub(in crate::rehearsal) fn delivered_message(
        &self,
        message: &MessageName,
    ) -> Option<DeliveredMessage> {
        self.state().bodies.get(message).cloned()
    }

    /// Its body alone.
    pub(in crate::rehearsal) fn delivered_body(&self, message: &MessageName) -> Option<String> {
        Some(self.state().bodies.get(message)?.body.clone())
    }
}
