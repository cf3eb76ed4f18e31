//! Interference with single calls: requests and replies that are lost, delayed, doubled,
//! or answered by the harness instead of the dependency.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::client::{is_submission, told_job};
use super::super::deliveries::Delivery;
use super::super::facts::{self, Fact};
use super::Board;
use super::faults::{Place, Triggered};
use super::passages::{Whose, one_or_nobody};
use super::unclear::{About, Whom};
use crate::fault::Point;
use crate::ids::{Author, FaultId, MessageName, RoleName, StageName};
use crate::protocol::sqs::is_the_queues_fault;
use crate::shape::Shape;
use crate::stage::{self, Passage, Subject};
use crate::tap::{Call, Reply, Request, Side, SqsReply};

/// What becomes of a held call, or of its reply.
pub(super) enum Held {
    /// It goes on.
    Free,
    /// It is dropped.
    Drop(FaultId),
    /// The caller gets this reply instead.
    Reply(FaultId, Reply),
    /// The dependency gets it twice.
    Twice(FaultId),
    /// The dependency gets this body instead.
    Alter(FaultId, Bytes),
    /// Its tap lets it misbehave so.
    Misbehave(FaultId, Misdeed),
}

/// What only its tap can do to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misdeed {
    /// It is answered as if it lasted, and is taken back.
    TakeBack,
    /// It is answered, and made so much later.
    AnswerFirst(Duration),
    /// It gets there with a letter changed.
    Spoil,
    /// It is made again so much later.
    Again(Duration),
}

/// A call at which some armed fault may interfere.
pub(super) enum Interfered {
    /// It is bound to this stage.
    Stage(Passage),
    /// It has a shape that is named.
    Call(Shape, Vec<Subject>),
    /// It submits a message.
    Submission,
}

impl Board {
    /// The stages (or the submission) that this call belongs to and that an armed fault
    /// wants at this boundary, wherever they are bound.
    pub(super) fn interfered(
        &self,
        call: &Call,
        side: Side,
        reply: Option<&Reply>,
    ) -> Vec<Interfered> {
        let (mut stages, mut any, mut submission) = (Vec::new(), false, false);
        for armed in &self.state().faults {
            if armed.disarmed || armed.side != Some(side) {
                continue;
            }
            match &armed.fault.point {
                Point::Stage { stage, .. } => stages.push(stage.clone()),
                Point::AnyStage { .. } => any = true,
                Point::Call { .. } => {}
                Point::Submission => submission = true,
            }
        }
        let wanted = |stage: &StageName| any || stages.contains(stage);
        let mut found = Vec::new();
        if any || !stages.is_empty() {
            let (manifest, queues) = (&self.0.manifest, &self.0.queues);
            let reached = match reply {
                None => stage::reached_before(manifest, call, queues),
                Some(reply) => stage::reached_after(manifest, call, reply, queues),
            };
            let reached = reached.into_iter().filter(|one| wanted(&one.stage));
            found.extend(reached.map(Interfered::Stage));
        }
        found.extend(self.named_call(call, side, reply));
        if submission && call.author == Author::Client && is_submission(&self.0.manifest, call) {
            found.push(Interfered::Submission);
        }
        found
    }

    /// Finds the faults that interfere with a call.
    pub(super) fn interfere(
        &self,
        call: &Call,
        side: Side,
        interfered: Vec<Interfered>,
    ) -> Vec<Triggered> {
        let mut triggered = Vec::new();
        for one in interfered {
            match one {
                Interfered::Stage(passage) => {
                    let place = Place::Stage(&passage.stage);
                    for subject in &passage.subjects {
                        let whom = self.passing(call, &passage.stage, subject);
                        triggered.extend(self.trigger_for_all(call, place, side, whom));
                    }
                }
                Interfered::Call(shape, subjects) => {
                    let place = Place::Call(&shape);
                    // A command of Redis that names nobody has no part that is about somebody.
                    let nobody = [Subject::default()];
                    let subjects = if subjects.is_empty() {
                        nobody.as_slice()
                    } else {
                        subjects.as_slice()
                    };
                    for subject in subjects {
                        let whom = self.whom(call, subject);
                        triggered.extend(self.trigger_for_all(call, place, side, whom));
                    }
                }
                Interfered::Submission => {
                    let message = self.submitted_by(call);
                    let message = message.as_ref();
                    let found = self.trigger(call, Place::Submission, Some(side), message, None);
                    triggered.extend(found);
                }
            }
        }
        triggered
    }

    fn trigger_for_all(
        &self,
        call: &Call,
        place: Place<'_>,
        side: Side,
        whom: Whom,
    ) -> Vec<Triggered> {
        let Whom {
            messages,
            presumed,
            open,
        } = whom;
        let open = open.map(|open| self.keep_open(open, &messages, [], About::Entry));
        let mut triggered = Vec::new();
        for message in one_or_nobody(messages) {
            let whose = Whose {
                message,
                presumed: presumed.clone(),
                open,
            };
            triggered.extend(self.trigger_for(call, place, Some(side), whose));
        }
        triggered
    }

    /// A client is about to be told its job.
    pub(super) fn learn_told(&self, call: &Call, reply: &Reply) {
        if call.author != Author::Client {
            return;
        }
        let Some(job) = told_job(&self.0.manifest, call, reply) else {
            return;
        };
        if let Some(message) = self.submitted_by(call) {
            self.learn_alias(&job, &message);
        }
    }

    fn submitted_by(&self, call: &Call) -> Option<MessageName> {
        let Request::Http(request) = &call.request else {
            return None;
        };
        let state = self.state();
        let named = state
            .aliases
            .messages(request.headers.iter().map(|(_, value)| value));
        let mut named = named.into_iter();
        match (named.next(), named.next()) {
            (Some(one), None) => Some(one),
            (None, _) if state.submitting.len() == 1 => state.submitting.first().cloned(),
            _ => None,
        }
    }

    /// Resolves once some process of a role is held at a stage.
    pub(in crate::rehearsal) async fn somebody_held(&self, role: &RoleName) {
        self.until(|| {
            let state = self.state();
            let held = state.holds.values().any(|author| is_of(author, role));
            held.then_some(())
        })
        .await;
    }

    /// Lets every held process of a role go on.
    pub(in crate::rehearsal) fn let_go(&self, role: &RoleName) {
        self.state().holds.retain(|_, author| !is_of(author, role));
        self.0.history.nudge();
    }

    /// The deliveries of a message that its receivers have not settled.
    pub(in crate::rehearsal) fn in_flight(&self, message: &MessageName) -> Vec<Delivery> {
        self.state().deliveries.unsettled_for(message)
    }

    /// Makes deliveries visible and returns once they are.
    pub(in crate::rehearsal) async fn expire_now(&self, deliveries: Vec<Delivery>) {
        let receipts: Vec<String> = deliveries
            .iter()
            .map(|delivery| delivery.receipt.clone())
            .collect();
        if let Some(actor) = self.actor() {
            let _ = tokio::spawn(actor.expire(deliveries)).await;
        }
        // Its receiver may still be at work; the queue counts on it no longer.
        let mut state = self.state();
        for receipt in &receipts {
            state.deliveries.touch(receipt);
        }
        drop(state);
        self.0.history.nudge();
    }

    /// What a lost reply would have handed over: nobody has it.
    pub(super) fn forget_delivered(&self, call: &Call, reply: &Reply) -> Vec<Delivery> {
        let mut state = self.state();
        let living = call
            .author
            .incarnation()
            .is_some_and(|author| state.living.contains_key(author));
        if !living {
            // Its death settles what it held.
            return Vec::new();
        }
        let mut forgotten = Vec::new();
        for fact in facts::of(&self.0.manifest, call, reply) {
            let Fact::Delivered { receipt, .. } = fact else {
                continue;
            };
            forgotten.extend(state.deliveries.get(&receipt).cloned());
            state.deliveries.end(&receipt);
        }
        drop(state);
        self.0.history.nudge();
        forgotten
    }

    pub(super) fn refuse_entry(
        &self,
        call: &Call,
        fault: FaultId,
        code: &str,
        message: Option<&MessageName>,
    ) -> Result<Held, String> {
        let Request::Sqs(request) = &call.request else {
            return Err("only calls to a queue have entries".to_owned());
        };
        let Some(entries) = request.body.get("Entries").and_then(Value::as_array) else {
            return call
                .request
                .asks()
                .refusal(code)
                .map(|reply| Held::Reply(fault, reply));
        };
        let mut state = self.state();
        let already = state.refused_entries.get(&call.id).cloned();
        let mut refused = already.unwrap_or_default();
        let mut kept = Vec::new();
        for entry in entries {
            let id = entry.get("Id").and_then(Value::as_str).unwrap_or_default();
            let ids = stage::ids_of_entry(&self.0.manifest, &call.dependency, entry);
            let wanted = state.aliases.messages(&ids).iter().next() == message;
            let known = refused.iter().any(|(refused, _)| refused == id);
            if wanted && !known {
                refused.push((id.to_owned(), code.to_owned()));
            } else if !known {
                kept.push(entry.clone());
            }
        }
        if kept.is_empty() {
            let body = json!({"Successful": [], "Failed": failed(&refused)});
            let reply = Reply::Sqs(SqsReply {
                status: 200,
                error: None,
                body,
                deletions: Vec::new(),
            });
            return Ok(Held::Reply(fault, reply));
        }
        state.refused_entries.insert(call.id, refused);
        let mut body = request.body.clone();
        body["Entries"] = Value::Array(kept);
        Ok(Held::Alter(fault, Bytes::from(body.to_string())))
    }

    /// The reply with the entries that never reached the queue.
    pub(super) fn with_refused_entries(&self, call: &Call, reply: &Reply) -> Option<Reply> {
        let refused = self.state().refused_entries.remove(&call.id)?;
        let Reply::Sqs(reply) = reply else {
            return None;
        };
        let mut reply = reply.clone();
        let mut all = reply.body.get("Failed").cloned().unwrap_or(json!([]));
        if let Some(all) = all.as_array_mut() {
            all.extend(failed(&refused));
        }
        reply.body["Failed"] = all;
        Some(Reply::Sqs(reply))
    }
}

fn failed(refused: &[(String, String)]) -> Vec<Value> {
    refused
        .iter()
        .map(|(id, code)| {
            json!({
                "Id": id, "Code": code, "SenderFault": !is_the_queues_fault(code),
                "Message": "refused by rehearsal"
            })
        })
        .collect()
}

fn is_of(author: &Author, role: &RoleName) -> bool {
    author
        .incarnation()
        .is_some_and(|incarnation| incarnation.role == *role)
}
