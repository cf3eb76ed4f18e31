//! What a tap saw of one action and of its answer, as plain values.

use serde_json::Value;

use crate::history::Said;
use crate::protocol::{Answers, Asks, ORDERED};
use crate::tap::Reply;

/// One SQS action.
#[derive(Clone, Debug)]
pub struct SqsRequest {
    /// `ReceiveMessage`, `DeleteMessage`, …
    pub action: String,
    /// The queue's name (the last segment of its URL), where the action has one.
    pub queue: Option<String>,
    /// The request's JSON with the queue URL as the *dependency* knows it.
    pub body: Value,
    /// `amz-sdk-invocation-id`: the same for every wire attempt of one call of an SDK.
    pub invocation: Option<String>,
    /// The wire attempt within the invocation, from 1.
    pub attempt: u32,
}

/// The answer to an SQS action.
#[derive(Clone, Debug)]
pub struct SqsReply {
    /// The status code.
    pub status: u16,
    /// The error's short name (`QueueDoesNotExist`), if it is an error.
    pub error: Option<String>,
    /// The answer's JSON with queue URLs as the *dependency* knows them.
    pub body: Value,
    /// What became of each deletion that the answer calls a success, where the queue tells.
    pub deletions: Vec<Deletion>,
}

/// What became of a message that was to be deleted: SQS answers with success either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It was deleted.
    Deleted,
    /// It is still there: the receipt was no longer good, or another queue has it.
    Kept,
    /// It is in no queue: it was deleted before, or has expired.
    Gone,
}

/// Errors by which SQS blames itself.
pub(crate) fn is_the_queues_fault(code: &str) -> bool {
    ["InternalError", "InternalFailure", "ServiceUnavailable"].contains(&code)
}

impl Asks for SqsRequest {
    fn summary(&self) -> String {
        match &self.queue {
            Some(queue) => format!("{} {queue}", self.action),
            None => self.action.clone(),
        }
    }

    fn actions(&self) -> Vec<String> {
        vec![self.action.clone()]
    }

    fn said(&self) -> Said {
        Said {
            statements: None,
            content: self.body.to_string().into_bytes(),
        }
    }

    fn receipts(&self) -> Vec<String> {
        let entries = self.body.get("Entries").and_then(Value::as_array);
        std::iter::once(&self.body)
            .chain(entries.into_iter().flatten())
            .filter_map(|item| item.get("ReceiptHandle")?.as_str())
            .map(str::to_owned)
            .collect()
    }

    fn is_only(&self, only: &str) -> bool {
        self.action == only || self.action.strip_suffix("Batch") == Some(only)
    }

    /// A status code stands for the error that SQS has for it.
    fn refusal(&self, code: &str) -> Result<Reply, String> {
        let (status, error) = match (code.parse::<u16>(), code) {
            (Ok(status), _) if status >= 500 => (status, "InternalFailure"),
            (Ok(status), _) => (status, "RequestThrottled"),
            (_, "ServiceUnavailable") => (503, code),
            (_, code) if is_the_queues_fault(code) => (500, code),
            (_, code) => (400, code),
        };
        Ok(Reply::Sqs(SqsReply {
            status,
            error: Some(error.to_owned()),
            body: serde_json::json!({ "message": format!("{ORDERED} {code}") }),
            deletions: Vec::new(),
        }))
    }
}

impl SqsReply {
    /// Whether it holds nothing but what was sent or handed over.
    fn is_told(&self) -> bool {
        const TOLD: [&str; 5] = [
            "Messages",
            "MessageId",
            "MD5OfMessageBody",
            "MD5OfMessageAttributes",
            "SequenceNumber",
        ];
        match &self.body {
            Value::Object(members) => members.keys().all(|name| TOLD.contains(&name.as_str())),
            body => body.is_null(),
        }
    }
}

impl Answers for SqsReply {
    fn summary(&self) -> String {
        let messages = self.body.get("Messages").and_then(Value::as_array);
        match (&self.error, messages) {
            (Some(error), _) => format!("{} {error}", self.status),
            (None, Some(messages)) => format!("{} ({} messages)", self.status, messages.len()),
            (None, None) => self.status.to_string(),
        }
    }

    fn status(&self) -> Option<u16> {
        Some(self.status)
    }

    fn content(&self) -> Vec<u8> {
        if self.is_success() && self.is_told() {
            return Vec::new();
        }
        self.body.to_string().into_bytes()
    }

    fn is_success(&self) -> bool {
        self.error.is_none() && self.status < 300
    }
}
