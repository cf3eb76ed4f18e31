//! Interference with single calls: requests and replies that are lost, delayed, doubled,
//! or answered by the harness instead of the dependency.

use std::collections::BTreeMap;

use bytes::Bytes;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::super::client::is_submission;
use super::super::deliveries::Delivery;
use super::super::facts::{self, Fact};
use super::Board;
use super::faults::{Place, Triggered};
use crate::fault::{Effect, Point, Until};
use crate::history::Event;
use crate::ids::{Author, CallId, FaultId, MessageName, RoleName, StageName};
use crate::stage::{self, Passage};
use crate::tap::{
    Call, HttpReply, PgError, PgReply, Reply, Request, Side, SqsReply, TransactionStatus,
};

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
}

/// A call at which some armed fault may interfere.
pub(super) enum Interfered {
    /// It is bound to this stage.
    Stage(Passage),
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
        if submission && call.author == Author::Client && is_submission(&self.0.manifest, call) {
            found.push(Interfered::Submission);
        }
        found
    }

    /// Finds the faults that interfere with a call.
    pub(super) async fn interfere(
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
                        for message in self.passing(call, subject).await {
                            let message = message.as_ref();
                            triggered.extend(self.trigger(call, place, Some(side), message));
                        }
                    }
                }
                Interfered::Submission => {
                    let message = self.submitted_by(call);
                    let found = self.trigger(call, Place::Submission, Some(side), message.as_ref());
                    triggered.extend(found);
                }
            }
        }
        triggered
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

    /// Carries the effects of triggered faults out; says what becomes of the call.
    pub(super) async fn carry_out(&self, call: &Call, triggered: Vec<Triggered>) -> Held {
        let mut held = Held::Free;
        // A call with several messages may be waited for by several faults: a process is
        // signalled once for all of them, and dies once.
        let mut signals: BTreeMap<Signal, Vec<FaultId>> = BTreeMap::new();
        for one in &triggered {
            if let Effect::Signal(signal) = one.effect {
                signals.entry(signal).or_default().push(one.fault);
            }
        }
        for one in triggered {
            let Triggered {
                fault,
                effect,
                message,
            } = one;
            let landed = |what: &str| self.land(fault, format!("{what} ({})", call.id));
            match effect {
                Effect::Signal(signal) => {
                    if let Some(faults) = signals.remove(&signal)
                        && self.send_signal(call, faults, signal).await
                    {
                        held = Held::Drop(fault);
                    }
                }
                Effect::Hold(until) => {
                    // Its author may die while it is held, which ends this here.
                    landed("is held");
                    self.wait_at_stage(call, fault, until.as_ref()).await;
                }
                Effect::Reappear => self.reappear(fault, message.as_ref()).await,
                Effect::Delay(delay) => {
                    // Its caller may go away meanwhile, and would take this future along.
                    landed(&format!("is held back for {delay:?}"));
                    tokio::time::sleep(delay).await;
                }
                Effect::LoseRequest => {
                    landed("was dropped before the dependency");
                    held = Held::Drop(fault);
                }
                Effect::LoseReply => {
                    landed("took effect and its reply was dropped");
                    held = Held::Drop(fault);
                }
                Effect::Answer(code) => match error_reply(call, &code) {
                    Ok(reply) => {
                        landed(&format!("was answered {code} in the dependency's place"));
                        held = Held::Reply(fault, reply);
                    }
                    Err(reason) => self.miss(fault, reason),
                },
                Effect::Duplicate => {
                    if matches!(call.request, Request::Postgres(_)) {
                        let reason = "a database connection repeats no call".to_owned();
                        self.miss(fault, reason);
                    } else {
                        // It lands when both copies were answered.
                        self.state().doubled.insert(call.id, (fault, 0));
                        held = Held::Twice(fault);
                    }
                }
                Effect::RefuseEntry(code) => {
                    match self.refuse_entry(call, fault, &code, message.as_ref()) {
                        Ok(decided) => {
                            landed(&format!("its entry was refused with {code}"));
                            held = decided;
                        }
                        Err(reason) => self.miss(fault, reason),
                    }
                }
            }
        }
        held
    }

    /// Resolves once the process may go on.
    async fn wait_at_stage(&self, call: &Call, fault: FaultId, until: Option<&Until>) {
        let start = self.0.history.last();
        let hold = Hold::begin(self, call);
        self.until(|| {
            let came_true = until
                .is_some_and(|until| self.passed_since(if until.ever { 0 } else { start }, until));
            (came_true || hold.is_over(fault) || self.is_ending(&call.author)).then_some(())
        })
        .await;
    }

    fn passed_since(&self, start: u64, until: &Until) -> bool {
        self.0.history.read(|entries| {
            let later = entries.iter().rev().take_while(|entry| entry.seq > start);
            later.into_iter().any(|entry| {
                matches!(&entry.event, Event::Stage { stage, message: Some(message), .. }
                    if *stage == until.stage && *message == until.message)
            })
        })
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

    /// Ends the visibility of what somebody still has in hand.
    async fn reappear(&self, fault: FaultId, message: Option<&MessageName>) {
        let Some(message) = message else {
            return self.miss(fault, "it cannot be told whose stage it was".to_owned());
        };
        let deliveries = self.in_flight(message);
        if deliveries.is_empty() {
            return self.miss(fault, format!("nobody had {message} in hand"));
        }
        let count = deliveries.len();
        self.expire_now(deliveries).await;
        self.land(
            fault,
            format!("{count} deliveries of {message} became visible"),
        );
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
        if let Some(actor) = self.0.actor.get() {
            let _ = tokio::spawn(actor.expire(deliveries)).await;
        }
        // Its receiver may still be at work; the queue counts on it no longer.
        let mut state = self.state();
        for receipt in &receipts {
            state.deliveries.touch(receipt);
        }
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
        forgotten
    }

    fn refuse_entry(
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
            return error_reply(call, code).map(|reply| Held::Reply(fault, reply));
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

/// Errors by which SQS blames itself.
fn is_the_queues_fault(code: &str) -> bool {
    ["InternalError", "InternalFailure", "ServiceUnavailable"].contains(&code)
}

/// An error as the dependency itself would report it.
fn error_reply(call: &Call, code: &str) -> Result<Reply, String> {
    Ok(match &call.request {
        Request::Http(_) => Reply::Http(HttpReply {
            status: code
                .parse()
                .map_err(|_| format!("`{code}` is no status code"))?,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: Bytes::from(format!("rehearsal answers {code}\n")),
        }),
        Request::Sqs(_) => Reply::Sqs(SqsReply {
            status: if is_the_queues_fault(code) { 500 } else { 400 },
            error: Some(code.to_owned()),
            body: Value::Null,
        }),
        Request::Postgres(_) => Reply::Postgres(PgReply {
            tags: Vec::new(),
            error: Some(PgError {
                code: code.to_owned(),
                message: format!("rehearsal answers {code}"),
            }),
            status: TransactionStatus::Failed,
            durable: Vec::new(),
        }),
    })
}

fn is_of(author: &Author, role: &RoleName) -> bool {
    author
        .incarnation()
        .is_some_and(|incarnation| incarnation.role == *role)
}

/// A process that a fault holds at a stage, for as long as this lives.
struct Hold<'b> {
    board: &'b Board,
    call: CallId,
}

impl<'b> Hold<'b> {
    fn begin(board: &'b Board, call: &Call) -> Self {
        board.state().holds.insert(call.id, call.author.clone());
        board.0.history.nudge();
        Self {
            board,
            call: call.id,
        }
    }

    /// Whether it was let go, or its fault taken back.
    fn is_over(&self, fault: FaultId) -> bool {
        let state = self.board.state();
        let mut faults = state.faults.iter();
        !state.holds.contains_key(&self.call)
            || faults.any(|armed| armed.id == fault && armed.disarmed)
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.board.state().holds.remove(&self.call);
    }
}
