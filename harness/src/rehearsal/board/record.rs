//! What goes to the history of each call and reply, before anything is decided.

use std::collections::BTreeSet;
use std::time::Instant;

use super::super::deliveries::Delivery;
use super::super::facts;
use super::Board;
use super::state::{Receive, State, Tick};
use crate::checkpoint::{self, Announcement};
use crate::history::{Attribution, Event};
use crate::ids::{FaultId, MessageName};
use crate::manifest::Ready;
use crate::protocol::{Answers, redis};
use crate::shape::Shape;
use crate::tap::{Call, Reply, Request, Side};

impl Board {
    pub(super) fn record_call(&self, call: &Call) -> BTreeSet<MessageName> {
        let ids = call.ids(&self.0.manifest);
        let asks = call.request.asks();
        let summary = asks.summary();
        let (messages, attribution) = {
            let mut state = self.state();
            let messages = match &call.request {
                Request::Http(request) if call.dependency.as_str() == checkpoint::DEPENDENCY => {
                    let announcement = Announcement::read(request);
                    state
                        .aliases
                        .messages(announcement.job.iter().chain(&announcement.message_id))
                }
                _ => state.aliases.messages(&ids),
            };
            self.note_recognition(&mut state, call, &ids, !messages.is_empty());
            self.note_company(&mut state, call);
            if !messages.is_empty() {
                (messages, Attribution::Id)
            } else if let Some(message) = state.sole_in_hand(&call.author) {
                (BTreeSet::from([message]), Attribution::InHand)
            } else {
                (messages, Attribution::None)
            }
        };
        let shows_ready = call.author.incarnation().filter(|incarnation| {
            let process = self.0.manifest.processes.get(&incarnation.role);
            process.is_some_and(|process| match &process.ready {
                Ready::Call {
                    dependency,
                    pattern,
                } => {
                    *dependency == call.dependency
                        && call.is_meant(pattern, &self.0.manifest, &self.0.queues)
                }
                _ => false,
            })
        });
        if let Some(incarnation) = shows_ready {
            self.state().called.insert(incarnation.clone());
        }
        let called = Event::Called {
            call: call.id,
            connection: call.connection,
            author: call.author.clone(),
            dependency: call.dependency.clone(),
            kind: None,
            summary: summary.into(),
            actions: asks.actions().into(),
            shape: Some(Shape::of(&self.0.manifest, &self.0.queues, call).into()),
            messages: messages.iter().cloned().collect(),
            attribution,
            receipts: asks.receipts(),
            content: None,
        };
        let began = self.0.history.append_call(called, asks.said());
        let mut state = self.state();
        let opened = (call.connection, call.author.clone());
        state.open.insert(call.id, opened);
        self.note_rounds(&mut state, call, began);
        if !self.is_receive(&state, call) {
            state.last_calls.insert(call.author.clone(), Instant::now());
        }
        self.note_ticks(&mut state, call, began);
        if let (Request::Sqs(request), Some(incarnation)) =
            (&call.request, call.author.incarnation())
            && request.action == "ReceiveMessage"
        {
            let receive = Receive {
                call: call.id,
                began,
                empty_handed: true,
            };
            let at_most = request.body.get("MaxNumberOfMessages");
            let at_most = at_most.and_then(serde_json::Value::as_u64).unwrap_or(1);
            self.0.history.append(Event::Receiving {
                call: call.id,
                incarnation: incarnation.clone(),
                at_most: u32::try_from(at_most).unwrap_or(u32::MAX),
                hides: request
                    .body
                    .get("VisibilityTimeout")
                    .and_then(serde_json::Value::as_u64),
            });
            let queue = request.queue.clone().unwrap_or_default();
            self.note_taker(&mut state, &incarnation.role, &call.dependency, &queue);
            let at = (incarnation.clone(), call.dependency.clone(), queue);
            state.receives.insert(at, receive);
        }
        if let (Request::Redis(request), Some(incarnation)) =
            (&call.request, call.author.incarnation())
        {
            let asked = redis::subject::asks(&self.0.manifest, &call.dependency, request);
            if let Some(at_most) = asked.iter().map(|(_, at_most)| *at_most).max() {
                self.0.history.append(Event::Receiving {
                    call: call.id,
                    incarnation: incarnation.clone(),
                    at_most,
                    hides: None,
                });
            }
            for (queue, _) in asked {
                let at = (incarnation.clone(), call.dependency.clone(), queue);
                let receive = Receive {
                    call: call.id,
                    began,
                    empty_handed: true,
                };
                state.receives.insert(at, receive);
            }
        }
        drop(state);
        self.0.history.nudge();
        messages
    }

    fn note_ticks(&self, state: &mut State, call: &Call, began: u64) {
        let Some(incarnation) = call.author.incarnation() else {
            return;
        };
        for (index, background) in self.0.manifest.background.iter().enumerate() {
            let ticks = background.tick.as_ref().is_some_and(|tick| {
                tick.dependency == call.dependency
                    && call.is_meant(&tick.pattern, &self.0.manifest, &self.0.queues)
            });
            if incarnation.role == background.role && ticks {
                let timer = (index, incarnation.clone());
                let over = state.ticks.get(&timer).map(|tick| tick.began);
                let call = call.id;
                state.ticks.insert(timer, Tick { call, began, over });
            }
        }
    }

    pub(super) fn record_reply(
        &self,
        call: &Call,
        reply: &Reply,
        deliverable: bool,
    ) -> Vec<Delivery> {
        let answers = reply.answers();
        let (ok, wrote) = (reply.is_success(), call.wrote(reply));
        self.0.history.append(Event::Replied {
            call: call.id,
            summary: reply.summary().into(),
            status: answers.and_then(Answers::status),
            wrote,
            deliverable,
            ok,
            content: self
                .0
                .history
                .content(&answers.map(Answers::content).unwrap_or_default()),
        });
        let mut orphans = Vec::new();
        {
            let mut state = self.state();
            state.open.remove(&call.id);
            if !self.is_receive(&state, call) {
                state.last_calls.insert(call.author.clone(), Instant::now());
            }
            match answers.and_then(Answers::is_in_transaction) {
                Some(true) => state
                    .transactions
                    .insert(call.connection, call.author.clone()),
                Some(false) => state.transactions.remove(&call.connection),
                None => None,
            };
            match answers.and_then(Answers::writes_on) {
                Some(true) => state.writing.insert(call.connection, call.author.clone()),
                Some(false) => state.writing.remove(&call.connection),
                None => None,
            };
        }
        self.note_performed(call, reply);
        for fact in facts::of(&self.0.manifest, call, reply) {
            orphans.extend(self.learn(call, fact, deliverable));
        }
        if wrote {
            let ids = call.durable_ids(&self.0.manifest, reply);
            let mut state = self.state();
            if !state.aliases.messages(&ids).is_empty() {
                state.effects.note(&call.author, self.0.history.last());
            }
        }
        self.0.history.nudge();
        orphans
    }

    /// What a service that the harness does not play performed, as its answer tells.
    fn note_performed(&self, call: &Call, reply: &Reply) {
        let (Request::Http(request), Reply::Http(answer)) = (&call.request, reply) else {
            return;
        };
        let services = self.0.witnessed.get();
        let service = services.and_then(|services| services.get(&call.dependency));
        let performed = service.and_then(|it| it.performed(request, answer.status));
        if let Some(performed) = performed {
            let request = format!("{} {}", request.method, request.path);
            let subject = performed.job.clone().or_else(|| performed.message.clone());
            self.performed(&call.dependency, request, subject, &performed);
        }
    }

    /// Whether a call asks for messages: whoever waits for work makes such calls for ever.
    pub(super) fn is_receive(&self, state: &State, call: &Call) -> bool {
        match &call.request {
            Request::Sqs(request) => request.action == "ReceiveMessage",
            Request::Redis(request) => {
                !redis::subject::asks(&self.0.manifest, &call.dependency, request).is_empty()
            }
            Request::Postgres(_) => {
                let mut receives = state.receives.values();
                receives.any(|receive| receive.call == call.id)
            }
            Request::Http(_) => false,
        }
    }

    pub(super) fn inject(&self, call: &Call, side: Side, what: &str, fault: Option<FaultId>) {
        self.note_injection(call, side, what, fault);
    }

    /// What was done to a call that goes on.
    pub(super) fn note_injection(
        &self,
        call: &Call,
        side: Side,
        what: &str,
        fault: Option<FaultId>,
    ) {
        let what = what.to_owned();
        if side == Side::Before {
            self.state().open.remove(&call.id);
        }
        self.0.history.append(Event::Injected {
            call: call.id,
            side,
            what,
            fault,
        });
    }
}
