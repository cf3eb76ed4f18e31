//! What the harness may ask and no SQS offers, as JSON under `/_rehearsal/`.
//!
//! | request | does |
//! |---|---|
//! | `GET /_rehearsal/health` | says who this is: [`Health`] |
//! | `GET /_rehearsal/queues` | all queues with exact counts and tallies, in one snapshot: [`Snapshot`] |
//! | `GET /_rehearsal/log?after=N&queue=NAME&limit=N` | the delivery log after entry N, bounded: [`Log`] |
//! | `GET /_rehearsal/callers?queue=NAME` | the ports from which a queue was called, without the harness's own: [`Ports`] |
//! | `POST /_rehearsal/expire` | [`Expire`]: ends the visibility of receipts at once, as their time-out would: [`Expired`] |
//! | `POST /_rehearsal/duplicate` | [`Duplicate`]: arranges one more delivery of a message: [`Duplicated`] |
//! | `POST /_rehearsal/due` | [`OneMessage`]: ends the delay of a message at once: [`Done`] |
//! | `POST /_rehearsal/release` | [`Release`]: long polls that wait on a queue are answered without a message now: [`Released`] |
//! | `POST /_rehearsal/forget` | [`OneMessage`]: ends the deduplication of a message at once: [`Done`] |
//!
//! Replies to deletions have the header [`DELETIONS`].
//!
//! Errors have the status 400 or 404 and the body `{"error": "…"}`.

use std::collections::BTreeSet;

use hyper::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::journal::Record;
use super::receipt::Receipt;
use super::refusal::{Code, Refusal};
use super::server::Shared;
use super::state::{Counts, Entry, Event, Expiry, Tally};

/// Where all of it stands.
pub const PREFIX: &str = "/_rehearsal/";

/// The header of a reply to a deletion that tells what became of each entry that succeeded,
/// in their order: `deleted`, `gone`, or `kept`. SQS answers all three with success.
pub const DELETIONS: &str = "x-rehearsal-deletions";

/// How many log entries one answer has unless it is asked for fewer or more.
const LOG_LIMIT: usize = 1_000;

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always `rehearsal queue`.
    pub server: String,
    /// The version of the crate.
    pub version: String,
}

/// All queues at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Milliseconds since 1970.
    pub at: u64,
    /// The number of the last entry of the delivery log at that moment.
    pub log: u64,
    /// By name.
    pub queues: Vec<QueueCounts>,
}

/// One queue in a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounts {
    /// Its name.
    pub name: String,
    /// Its ARN.
    pub arn: String,
    /// How many messages stand where.
    pub counts: Counts,
    /// What came and went.
    pub tally: Tally,
}

/// A part of the delivery log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// Oldest first.
    pub entries: Vec<LogEntry>,
    /// Ask with `after` set to this for what comes next.
    pub next: u64,
    /// How many entries the bound has pushed out since the start.
    pub dropped: u64,
}

/// One thing that happened to one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Counts from 1 at the start of the server.
    pub number: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The queue's name.
    pub queue: String,
    /// The message's id.
    pub message_id: Uuid,
    /// How often it had been received by then.
    pub receives: u32,
    /// `sent`, `delivered`, `deleted`, `stale delete`, `visibility changed`,
    /// `visibility ended`, `delay ended`, `receipt expired`, `duplicate asked`,
    /// `revived`, `retention ended`, `dead-lettered`, `moved` or `purged`.
    pub event: String,
    /// The handle of a delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_handle: Option<String>,
}

/// From where a queue was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// Each once, in their order.
    pub ports: BTreeSet<u16>,
}

/// Ends the visibility of receipts at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expire {
    /// The handles, of any queues.
    pub receipt_handles: Vec<String>,
}

/// What [`Expire`] did to each handle, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// One for each handle.
    pub outcomes: Vec<ExpiryOutcome>,
}

/// What became of one receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpiryOutcome {
    /// Its message can be received now.
    MadeVisible,
    /// Its message could be received already.
    AlreadyVisible,
    /// Its message was delivered again since; that delivery is left alone.
    Superseded,
    /// Its message, or its queue, is no more.
    Gone,
}

/// Arranges one more delivery of a message, as a standard queue may do by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// The queue's name.
    pub queue: String,
    /// The message's id.
    pub message_id: Uuid,
    /// When.
    #[serde(default)]
    pub when: DuplicateWhen,
}

/// When a duplicate is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateWhen {
    /// With the next receive, while the first delivery is in flight; the handles of
    /// both are good.
    #[default]
    Now,
    /// After its next deletion, which takes no effect.
    AfterDelete,
}

/// A duplicate was arranged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicated {
    /// As asked.
    pub message_id: Uuid,
}

/// Names one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneMessage {
    /// Its id.
    pub message_id: Uuid,
}

/// What was asked for is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// As asked.
    pub message_id: Uuid,
    /// The queue that has it.
    pub queue: String,
}

/// Answers the long polls that wait on a queue now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Its name.
    pub queue: String,
}

/// What [`Release`] did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// How many waited.
    pub polls: usize,
}

/// An admin request that cannot be answered.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    message: String,
}

impl Problem {
    fn bad(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            message: message.into(),
        }
    }

    fn missing(message: impl Into<String>) -> Self {
        Self {
            status: 404,
            message: message.into(),
        }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        serde_json::json!({ "error": self.message })
            .to_string()
            .into_bytes()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal.code {
            Code::QueueDoesNotExist => Self::missing(refusal.message),
            code => Self {
                status: code.status(),
                message: refusal.message,
            },
        }
    }
}

/// Answers one request; `place` is its path after the prefix.
pub(crate) fn answer(
    shared: &Shared,
    method: &Method,
    place: &str,
    parameters: &str,
    body: &[u8],
) -> Result<Vec<u8>, Problem> {
    match (method.as_str(), place) {
        ("GET", "health") => render(&Health {
            server: "rehearsal queue".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        ("GET", "queues") => render(&snapshot(shared)),
        ("GET", "log") => render(&log(shared, parameters)?),
        ("GET", "callers") => render(&callers(shared, parameters)?),
        ("POST", "expire") => render(&expire(shared, &parse(body)?)?),
        ("POST", "duplicate") => render(&duplicate(shared, parse(body)?)?),
        ("POST", "due") => render(&make_due(shared, &parse(body)?)?),
        ("POST", "release") => {
            let Release { queue } = parse(body)?;
            let polls = shared.broker.release(&queue)?;
            render(&Released { polls })
        }
        ("POST", "forget") => render(&forget(shared, &parse(body)?)?),
        _ => Err(Problem::missing(format!(
            "{method} {PREFIX}{place} is nothing that this server answers; it has GET health, GET queues, GET log, GET callers, POST expire, POST duplicate, POST due, POST release and POST forget"
        ))),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body)
        .map_err(|error| Problem::bad(format!("the request cannot be read: {error}")))
}

fn render<T: Serialize>(reply: &T) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(reply).map_err(|error| Problem {
        status: 500,
        message: format!("the reply cannot be written: {error}"),
    })
}

fn callers(shared: &Shared, parameters: &str) -> Result<Ports, Problem> {
    let queue = parameters
        .strip_prefix("queue=")
        .ok_or_else(|| Problem::bad("say of which queue: callers?queue=NAME"))?;
    let ports = shared.callers.of(queue);
    let ports = ports.map_err(|message| Problem {
        status: 500,
        message,
    })?;
    Ok(Ports { ports })
}

fn snapshot(shared: &Shared) -> Snapshot {
    shared.broker.read(|state, now| {
        state.advance_all(now);
        Snapshot {
            at: now.millis(),
            log: state.log.last(),
            queues: state
                .queues()
                .map(|queue| QueueCounts {
                    name: queue.name.to_string(),
                    arn: state.terms.arn(&queue.name),
                    counts: queue.counts(),
                    tally: queue.tally,
                })
                .collect(),
        }
    })
}

fn log(shared: &Shared, parameters: &str) -> Result<Log, Problem> {
    let mut after = 0;
    let mut limit = LOG_LIMIT;
    let mut queue = None;
    for pair in parameters.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let not_a_number = |_| Problem::bad(format!("{name}={value}: a whole number is wanted"));
        match name {
            "after" => after = value.parse().map_err(not_a_number)?,
            "limit" => limit = value.parse().map_err(not_a_number)?,
            "queue" => queue = Some(value),
            _ => {
                return Err(Problem::bad(format!(
                    "{name} is not known; the log has after, limit and queue"
                )));
            }
        }
    }
    Ok(shared.broker.read(|state, now| {
        state.advance_all(now);
        let entries: Vec<LogEntry> = state
            .log
            .after(after)
            .filter(|entry| queue.is_none_or(|queue| *entry.queue == *queue))
            .take(limit)
            .map(LogEntry::from)
            .collect();
        let next = if entries.len() == limit {
            entries.last().map_or(after, |entry| entry.number)
        } else {
            state.log.last()
        };
        Log {
            entries,
            next,
            dropped: state.log.dropped(),
        }
    }))
}

impl From<&Entry> for LogEntry {
    fn from(entry: &Entry) -> Self {
        let event = match entry.event {
            Event::Sent => "sent",
            Event::Delivered(_) => "delivered",
            Event::Deleted => "deleted",
            Event::StaleDelete => "stale delete",
            Event::VisibilityChanged => "visibility changed",
            Event::VisibilityEnded => "visibility ended",
            Event::DelayEnded => "delay ended",
            Event::ReceiptExpired => "receipt expired",
            Event::DuplicateAsked => "duplicate asked",
            Event::Revived => "revived",
            Event::RetentionEnded => "retention ended",
            Event::DeadLettered => "dead-lettered",
            Event::Moved => "moved",
            Event::Purged => "purged",
        };
        Self {
            number: entry.number,
            at: entry.at.millis(),
            queue: entry.queue.to_string(),
            message_id: entry.message,
            receives: entry.receives,
            event: event.to_owned(),
            receipt_handle: match entry.event {
                Event::Delivered(receipt) => Some(receipt.to_string()),
                _ => None,
            },
        }
    }
}

fn expire(shared: &Shared, request: &Expire) -> Result<Expired, Problem> {
    let receipts = request
        .receipt_handles
        .iter()
        .map(|handle| {
            Receipt::parse(handle)
                .ok_or_else(|| Problem::bad(format!("`{handle}` is not a receipt handle")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let outcomes = shared.broker.change(|state, now| {
        let outcomes = receipts
            .iter()
            .map(|receipt| state.expire(*receipt, now).into())
            .collect();
        Ok((outcomes, Some(Record::Expire { receipts })))
    })?;
    Ok(Expired { outcomes })
}

impl From<Expiry> for ExpiryOutcome {
    fn from(expiry: Expiry) -> Self {
        match expiry {
            Expiry::MadeVisible => Self::MadeVisible,
            Expiry::AlreadyVisible => Self::AlreadyVisible,
            Expiry::Superseded => Self::Superseded,
            Expiry::Gone => Self::Gone,
        }
    }
}

fn duplicate(shared: &Shared, request: Duplicate) -> Result<Duplicated, Problem> {
    let Duplicate {
        queue,
        message_id,
        when,
    } = request;
    let after_delete = when == DuplicateWhen::AfterDelete;
    let name = queue.clone();
    let found = shared.broker.change(|state, now| {
        let found = state.duplicate(&queue, message_id, after_delete, now)?;
        let record = found.then_some(Record::Duplicate {
            queue,
            message: message_id,
            after_delete,
        });
        Ok((found, record))
    })?;
    if found {
        Ok(Duplicated { message_id })
    } else {
        Err(Problem::missing(format!(
            "the queue {name} holds no message {message_id} (any more)"
        )))
    }
}

fn make_due(shared: &Shared, request: &OneMessage) -> Result<Done, Problem> {
    let message = request.message_id;
    let queue = shared.broker.change(|state, now| {
        let queue = state.make_due(message, now);
        let record = queue.is_some().then_some(Record::MakeDue { message });
        Ok((queue, record))
    })?;
    done(message, queue, "is delayed (any more)")
}

fn forget(shared: &Shared, request: &OneMessage) -> Result<Done, Problem> {
    let message = request.message_id;
    let queue = shared.broker.change(|state, _| {
        let queue = state.forget_sent(message);
        let record = queue.is_some().then_some(Record::ForgetSent { message });
        Ok((queue, record))
    })?;
    done(message, queue, "has a deduplication id that is remembered")
}

fn done(message_id: Uuid, queue: Option<String>, what: &str) -> Result<Done, Problem> {
    let queue = queue
        .ok_or_else(|| Problem::missing(format!("no message {message_id} {what} in any queue")))?;
    Ok(Done { message_id, queue })
}
