//! The actions of SQS: a request read and checked, the state machine asked, a
//! reply written.

mod attributes;
mod batches;
mod messages;
mod outgoing;
mod queues;
mod receive;
mod transfers;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::protocol::json::{parse, render};
use super::refusal::{Code, Refusal};
use super::server::{Probe, Shared};
use super::state::Deletion;

/// What an action may know of who calls.
#[derive(Debug)]
pub(crate) struct Caller {
    /// What queue URLs start with for this client.
    pub(crate) base: String,
    /// Shows whether the client is still there.
    pub(crate) probe: Arc<Probe>,
    /// The path of the request, which in the query protocol may name the queue.
    pub(crate) path: String,
}

impl Caller {
    /// A queue's URL as this client should use it.
    fn url(&self, shared: &Shared, name: &str) -> String {
        format!("{}/{}/{name}", self.base, shared.terms.account)
    }
}

/// A reply, and what it does not say.
#[derive(Debug)]
pub(crate) struct Answer {
    /// As JSON.
    pub(crate) body: Vec<u8>,
    /// What became of each deletion that the reply calls a success, in a word.
    pub(crate) deletions: Option<String>,
}

impl From<Vec<u8>> for Answer {
    fn from(body: Vec<u8>) -> Self {
        Self {
            body,
            deletions: None,
        }
    }
}

/// What deletions came to, beside the reply, which calls all of them a success.
#[derive(Debug)]
struct Deleted<R> {
    reply: R,
    outcomes: Vec<Deletion>,
}

impl<R: serde::Serialize> Deleted<R> {
    fn answer(&self) -> Result<Answer, Refusal> {
        let words: Vec<&str> = self.outcomes.iter().map(|one| one.word()).collect();
        Ok(Answer {
            body: render(&self.reply)?,
            deletions: Some(words.join(", ")),
        })
    }
}

/// Performs one action on a JSON request and gives the JSON reply.
pub(crate) async fn perform(
    shared: &Shared,
    caller: &Caller,
    action: &str,
    body: &[u8],
) -> Result<Answer, Refusal> {
    let body = match action {
        "DeleteMessage" => return messages::delete(shared, &parse(body)?)?.answer(),
        "DeleteMessageBatch" => return batches::delete(shared, &parse(body)?)?.answer(),
        "SendMessage" => render(&messages::send(shared, parse(body)?)?),
        "ReceiveMessage" => receive::receive(shared, caller, parse(body)?).await,
        "ChangeMessageVisibility" => render(&messages::change_visibility(shared, &parse(body)?)?),
        "SendMessageBatch" => render(&batches::send(shared, parse(body)?)?),
        "ChangeMessageVisibilityBatch" => {
            render(&batches::change_visibility(shared, &parse(body)?)?)
        }
        "CreateQueue" => render(&queues::create(shared, caller, parse(body)?)?),
        "GetQueueUrl" => render(&queues::get_url(shared, caller, &parse(body)?)?),
        "ListQueues" => render(&queues::list(shared, caller, &parse(body)?)?),
        "ListDeadLetterSourceQueues" => render(&queues::list_dead_letter_sources(
            shared,
            caller,
            &parse(body)?,
        )?),
        "DeleteQueue" => render(&queues::delete(shared, &parse(body)?)?),
        "PurgeQueue" => render(&queues::purge(shared, &parse(body)?)?),
        "GetQueueAttributes" => render(&attributes::get(shared, &parse(body)?)?),
        "SetQueueAttributes" => render(&attributes::set(shared, parse(body)?)?),
        "TagQueue" => render(&queues::tag(shared, parse(body)?)?),
        "UntagQueue" => render(&queues::untag(shared, parse(body)?)?),
        "ListQueueTags" => render(&queues::list_tags(shared, &parse(body)?)?),
        "StartMessageMoveTask" => render(&transfers::start(shared, parse(body)?)?),
        "CancelMessageMoveTask" => render(&transfers::cancel(shared, &parse(body)?)?),
        "ListMessageMoveTasks" => render(&transfers::list(shared, &parse(body)?)?),
        "AddPermission" | "RemovePermission" => Err(Refusal::new(
            Code::UnsupportedOperation,
            format!(
                "This rehearsal queue checks no permissions, so it has no {action}; set the attribute Policy instead."
            ),
        )),
        _ => Err(Refusal::new(
            Code::InvalidAction,
            format!("The action {action} is not one that this rehearsal queue knows."),
        )),
    };
    body.map(Answer::from)
}

/// A reply without members.
#[derive(Debug, serde::Serialize)]
struct Empty {}

/// A parameter that the request must have.
fn require<'a, T>(name: &str, value: Option<&'a T>) -> Result<&'a T, Refusal> {
    value.ok_or_else(|| Refusal::missing(name))
}

/// The name in a queue URL. Only its path counts: the same queue has many hosts.
fn queue_in<'a>(shared: &Shared, url: Option<&'a String>) -> Result<&'a str, Refusal> {
    let url = require("QueueUrl", url)?;
    let path = url
        .split_once("://")
        .map_or(url.as_str(), |(_, rest)| rest)
        .trim_end_matches('/');
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    match parts.next() {
        Some(account) if account == shared.terms.account && !name.is_empty() => {
            shared.callers.note(name);
            Ok(name)
        }
        Some(account) if account.len() == 12 && account.bytes().all(|b| b.is_ascii_digit()) => {
            Err(Refusal::no_queue())
        }
        _ => Err(Refusal::new(
            Code::InvalidAddress,
            format!(
                "The address {url} is not valid for this endpoint; a queue URL ends in /{}/<name>.",
                shared.terms.account
            ),
        )),
    }
}

/// A whole number within the range that AWS states.
fn within(
    name: &str,
    value: Option<i64>,
    range: std::ops::RangeInclusive<u32>,
) -> Result<Option<u32>, Refusal> {
    let Some(value) = value else {
        return Ok(None);
    };
    u32::try_from(value)
        .ok()
        .filter(|value| range.contains(value))
        .map(Some)
        .ok_or_else(|| {
            Refusal::value(
                value,
                name,
                &format!(
                    "Must be between {} and {}, if provided.",
                    range.start(),
                    range.end()
                ),
            )
        })
}

/// One page of names, and the token of the next. Without a page size there is
/// no next page, as SQS does it.
fn page<'a>(
    names: impl Iterator<Item = &'a str>,
    size: Option<u32>,
) -> (Vec<&'a str>, Option<String>) {
    let length = size.unwrap_or(1_000) as usize;
    let mut page: Vec<&str> = names.take(length + 1).collect();
    let more = page.len() > length;
    page.truncate(length);
    let token = page
        .last()
        .filter(|_| more && size.is_some())
        .map(|last| URL_SAFE_NO_PAD.encode(last));
    (page, token)
}

/// The name after which a page starts.
fn page_start(token: Option<&str>) -> Result<String, Refusal> {
    let Some(token) = token else {
        return Ok(String::new());
    };
    URL_SAFE_NO_PAD
        .decode(token)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| Refusal::value(token, "NextToken", "It is not one that was returned."))
}
