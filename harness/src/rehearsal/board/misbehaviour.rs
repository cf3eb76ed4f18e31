//! Calls that misbehave as a broken system's would: never made though it is told so, made
//! later than it is told, made again, or made otherwise than they were meant.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Board;
use super::faults::invocation;
use super::interference::{Held, Misdeed};
use crate::embedded::queue::md5_of;
use crate::fault::{Effect, Point};
use crate::history::Tally;
use crate::ids::{FaultId, Incarnation, StageName};
use crate::protocol::http::connection::AGAIN;
use crate::protocol::{redis, spoilt};
use crate::shape::Shape;
use crate::tap::{Call, HttpReply, Reply, Request, SqsReply};

/// What became of the call, and what was done, in words, if it is done already; or why it
/// was not.
type Decided = Result<(Held, Option<&'static str>), (Held, String)>;

/// So long stays hidden what is hidden too long: the most that SQS grants.
const TOO_LONG: u64 = 43_200;
/// Between two receives of a process that would not ask.
const BETWEEN_RECEIVES: Duration = Duration::from_millis(250);

impl Board {
    #[expect(
        clippy::result_large_err,
        reason = "what becomes of a call is decided once"
    )]
    /// Lets a call misbehave. One that several faults want so (`again`) does so once.
    pub(super) fn misbehave(
        &self,
        call: &Call,
        fault: FaultId,
        effect: &Effect,
        held: Held,
        again: bool,
    ) -> Decided {
        let misdeed = match (effect, &call.request) {
            (Effect::Pretend, Request::Postgres(_)) => Some(Misdeed::TakeBack),
            (Effect::AnswerFirst(later), _) => Some(Misdeed::AnswerFirst(*later)),
            (Effect::Spoil, Request::Postgres(_)) => Some(Misdeed::Spoil),
            (Effect::Again(later), Request::Sqs(_)) => {
                if invocation(call).is_some_and(|id| id.starts_with(AGAIN)) {
                    let reason = "it is the repetition itself".to_owned();
                    return Err((held, reason));
                }
                Some(Misdeed::Again(*later))
            }
            _ => None,
        };
        match (effect, held) {
            (_, Held::Free) if misdeed.is_some() => {
                self.state().misbehaving.insert(call.id, vec![fault]);
                let held = misdeed.map(|misdeed| Held::Misbehave(fault, misdeed));
                Ok((held.unwrap_or(Held::Free), None))
            }
            (_, Held::Misbehave(first, misdeed)) if again => {
                let mut state = self.state();
                state.misbehaving.entry(call.id).or_default().push(fault);
                Ok((Held::Misbehave(first, misdeed), None))
            }
            (Effect::Pretend, Held::Free) => match pretended(call) {
                Ok(reply) => Ok((Held::Reply(fault, reply), Some("was answered as if done"))),
                Err(reason) => Err((Held::Free, reason)),
            },
            (Effect::Pretend, held @ Held::Reply(..)) if again => {
                Ok((held, Some("was answered as if done")))
            }
            (Effect::Spoil | Effect::Lengthen, Held::Free) => match altered(call, effect) {
                Ok(body) => Ok((Held::Alter(fault, body), Some("got there altered"))),
                Err(reason) => Err((Held::Free, reason)),
            },
            (Effect::Spoil | Effect::Lengthen, held @ Held::Alter(..)) if again => {
                Ok((held, Some("got there altered")))
            }
            (Effect::Again(later), held) => match &call.request {
                Request::Http(_) => {
                    self.make_again(call, *later);
                    Ok((held, Some("is made again later")))
                }
                Request::Sqs(_) | Request::Postgres(_) | Request::Redis(_) => {
                    let reason = "no such call is made again later".to_owned();
                    Err((held, reason))
                }
            },
            (effect, held) => {
                let reason = format!("no {effect}: another fault decided over {} first", call.id);
                Err((held, reason))
            }
        }
    }

    /// A tap tells what it could do to a call.
    pub(super) fn note_misdeed(&self, call: &Call, outcome: Result<&str, &str>) {
        let faults = self.state().misbehaving.remove(&call.id);
        for fault in faults.into_iter().flatten() {
            match outcome {
                Ok(what) => self.land(fault, format!("{what} ({})", call.id)),
                Err(reason) => self.miss(fault, format!("{reason} ({})", call.id)),
            }
        }
    }

    /// An incarnation is told to end.
    pub(in crate::rehearsal) fn told_to_end(&self, incarnation: &Incarnation) {
        self.state().terminated.insert(incarnation.clone());
    }

    /// By order of which fault a consumer goes on to ask though it would not.
    pub(super) fn asks_on(&self, call: &Call) -> Option<FaultId> {
        let author = call.author.incarnation()?;
        let wants = |shape: Option<&Shape>| {
            let state = self.state();
            let mut faults = state.faults.iter();
            let found = faults.find(|armed| {
                armed.fault.effect == Effect::AskOn
                    && !armed.disarmed
                    && !armed.fault.times.is_over(armed.landed)
                    && matches!(&armed.fault.point, Point::Call { role, wanted, .. }
                        if *role == author.role && shape.is_none_or(|shape| wanted.is(shape)))
            });
            found.map(|armed| armed.id)
        };
        wants(None)?;
        if !self.is_receive(&self.state(), call) {
            return None;
        }
        wants(Some(&Shape::of(&self.0.manifest, &self.0.queues, call)))
    }

    /// Resolves once the author of a receive was told to end, or consumption pauses, unless it
    /// asked again by itself. The fault lands when the receive is made.
    pub(super) fn moment_to_ask(&self, call: &Call) -> BoxFuture<'static, bool> {
        let (board, call) = (self.clone(), call.clone());
        Box::pin(async move {
            let Some((fault, author)) = board.asks_on(&call).zip(call.author.incarnation()) else {
                return false;
            };
            let its_time = board.until(|| {
                let state = board.state();
                let asked_again = state
                    .receives
                    .iter()
                    .any(|((of, ..), receive)| of == author && receive.call > call.id);
                if asked_again || !state.living.contains_key(author) {
                    return Some(false);
                }
                let ends = state.terminated.contains(author);
                drop(state);
                (ends || board.is_paused()).then_some(true)
            });
            let its_time = its_time.await;
            if its_time {
                tokio::time::sleep(BETWEEN_RECEIVES).await;
                board.with_triggered(fault, call.id);
                board.state().misbehaving.insert(call.id, vec![fault]);
            }
            its_time
        })
    }

    /// Whether consumption is paused or stopped by the system itself, as its stages tell.
    fn is_paused(&self) -> bool {
        let Some(consumption) = &self.0.manifest.consumption else {
            return false;
        };
        let last = |stage: &StageName| {
            let last = |tally: &Tally| tally.last_passage_of_any(stage);
            self.0.history.tally(last)
        };
        let begins = [&consumption.paused, &consumption.stopped];
        let begun = begins.into_iter().flatten().map(last).max();
        let resumed = consumption.resumed.iter().map(last).max();
        begun.unwrap_or_default() > resumed.unwrap_or_default()
    }

    fn make_again(&self, call: &Call, later: Duration) {
        if let Some(actor) = self.actor() {
            tokio::spawn(actor.make_again(Arc::new(call.clone()), later));
        }
    }
}

/// A reply that says that all is done.
fn pretended(call: &Call) -> Result<Reply, String> {
    let request = match &call.request {
        Request::Http(_) => {
            return Ok(Reply::Http(HttpReply {
                status: 200,
                headers: Vec::new(),
                body: Bytes::new(),
            }));
        }
        Request::Postgres(_) => {
            return Err("what a database answers, its tap knows alone".to_owned());
        }
        Request::Redis(request) => return redis::pretended(request).map(Reply::Redis),
        Request::Sqs(request) => request,
    };
    let entries = request.body.get("Entries").and_then(Value::as_array);
    let entries = entries.map_or(&[][..], Vec::as_slice);
    let body = match request.action.as_str() {
        "DeleteMessage" | "ChangeMessageVisibility" => json!({}),
        "SendMessage" => taken(&request.body),
        "ReceiveMessage" => json!({ "Messages": [] }),
        "DeleteMessageBatch" | "ChangeMessageVisibilityBatch" | "SendMessageBatch" => {
            let done = entries.iter().map(|entry| {
                let mut done = match entry.get("MessageBody") {
                    Some(_) => taken(entry),
                    None => json!({}),
                };
                done["Id"] = entry.get("Id").cloned().unwrap_or_default();
                done
            });
            json!({ "Successful": done.collect::<Vec<_>>(), "Failed": [] })
        }
        other => return Err(format!("{other} cannot be pretended")),
    };
    Ok(Reply::Sqs(SqsReply {
        status: 200,
        error: None,
        body,
        deletions: Vec::new(),
    }))
}

/// The body that a dependency gets instead of a call's own.
fn altered(call: &Call, effect: &Effect) -> Result<Bytes, String> {
    let request = match (&call.request, effect) {
        (Request::Http(request), Effect::Spoil) if request.is_cut => {
            return Err("its body is passed on as it comes".to_owned());
        }
        (Request::Http(request), Effect::Spoil) => {
            let spoilt = spoilt(&request.body).map(Bytes::from);
            return spoilt.ok_or_else(|| "its body holds no text of any length".to_owned());
        }
        (Request::Sqs(request), Effect::Lengthen) => request,
        _ => return Err(format!("no {effect} of such a call")),
    };
    let mut body = request.body.clone();
    let hides = |item: &mut Value| {
        if item.get("VisibilityTimeout").is_some() {
            item["VisibilityTimeout"] = json!(TOO_LONG);
        }
    };
    match request.action.as_str() {
        "ChangeMessageVisibility" => hides(&mut body),
        "ChangeMessageVisibilityBatch" => {
            let entries = body.get_mut("Entries").and_then(Value::as_array_mut);
            entries.into_iter().flatten().for_each(hides);
        }
        "ReceiveMessage" => body["VisibilityTimeout"] = json!(TOO_LONG),
        other => return Err(format!("{other} hides nothing")),
    }
    Ok(Bytes::from(body.to_string()))
}

/// What a queue answers that took a message.
fn taken(entry: &Value) -> Value {
    let body = entry.get("MessageBody").and_then(Value::as_str);
    json!({
        "MessageId": Uuid::new_v4().to_string(),
        "MD5OfMessageBody": md5_of(body.unwrap_or_default().as_bytes()),
    })
}
