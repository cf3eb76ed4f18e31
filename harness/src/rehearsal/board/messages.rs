//! What the harness's client and the services it plays tell of messages.

use super::Board;
use crate::history::Event;
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
            state.aliases.learn(id, message);
        }
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
        state.aliases.learn(message.as_str(), message);
        state.foreign.push((body.to_owned(), message.clone()));
        drop(state);
        let content = self.0.history.blob(body.as_bytes());
        self.0.history.append(Event::Declared {
            message: message.clone(),
            kind: "foreign".to_owned(),
            kills: None,
            content,
        });
    }

    /// The queue took it.
    pub(in crate::rehearsal) fn put(&self, message: &MessageName, queue: &str, message_id: &str) {
        let call = {
            let mut state = self.state();
            state.aliases.learn(message_id, message);
            state.foreign.retain(|(_, waiting)| waiting != message);
            state.calls += 1;
            CallId(state.calls)
        };
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
        self.state().effects.note(&Author::Client, seq);
        self.0.history.nudge();
    }

    pub(in crate::rehearsal) fn submitting(&self, message: &MessageName) {
        self.state().submitting.insert(message.clone());
        self.0.history.append(Event::Submitting {
            message: message.clone(),
        });
    }

    pub(in crate::rehearsal) fn accepted(&self, message: &MessageName, job: &str) {
        {
            let mut state = self.state();
            state.aliases.learn(job, message);
            state.submitting.remove(message);
        }
        let seq = self.0.history.append(Event::Accepted {
            message: message.clone(),
            job: job.to_owned(),
        });
        self.state().effects.note(&Author::Client, seq);
        self.0.history.nudge();
    }

    pub(in crate::rehearsal) fn refused(&self, message: &MessageName, reason: &str) {
        self.state().submitting.remove(message);
        self.0.history.append(Event::Refused {
            message: message.clone(),
            reason: reason.to_owned(),
        });
    }

    /// A service that the harness plays has answered a request.
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
        if performed.write && message.is_none() {
            self.note_strange_write(dependency, performed);
        }
        let dependency = dependency.clone();
        self.0.history.append(Event::Performed {
            dependency,
            request,
            route: performed.route.clone(),
            write: performed.write,
            repeated: performed.repeated,
            message,
            job,
            status: performed.status,
        });
    }

    /// What the queue delivered of a message, the first time.
    pub(in crate::rehearsal) fn delivered_body(&self, message: &MessageName) -> Option<String> {
        self.state().bodies.get(message).cloned()
    }
}
