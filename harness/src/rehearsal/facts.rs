//! What a reply of a queue proves, as facts: a message was sent, delivered, deleted,
//! or its visibility changed.

use serde_json::Value;

use crate::manifest::Manifest;
use crate::protocol::queue::{Item, QueueEffect};
use crate::protocol::redis::subject;
use crate::protocol::table;
use crate::stage;
use crate::tap::{Call, Deletion, Reply, Request, SqsReply};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    Sent {
        queue: String,
        message_id: String,
        ids: Vec<String>,
        item: Value,
    },
    /// What was sent has this place in a group of its FIFO queue.
    Placed {
        queue: String,
        message_id: String,
        group: String,
        sequence: String,
    },
    Delivered {
        queue: String,
        message_id: String,
        receipt: String,
        ids: Vec<String>,
        item: Value,
    },
    Deleted {
        receipt: String,
        /// The copy, where the reply tells it.
        message_id: Option<String>,
        /// Whether the queue kept it all the same, where it tells.
        kept: Option<bool>,
    },
    /// Something was done to a queue that no wire tells.
    Unseen {
        queue: String,
        command: String,
    },
    VisibilityChanged {
        receipt: String,
        seconds: i64,
    },
}

/// The facts that this reply proves. Failed entries of a batch prove nothing.
pub(super) fn of(manifest: &Manifest, call: &Call, reply: &Reply) -> Vec<Fact> {
    let effects = match reply {
        Reply::Redis(reply) => &reply.effects,
        Reply::Postgres(reply) => &reply.effects,
        _ => &Vec::new(),
    };
    if !effects.is_empty() {
        let effects = effects.iter();
        return effects
            .map(|effect| of_effect(manifest, call, effect))
            .collect();
    }
    let (Request::Sqs(request), Reply::Sqs(answer)) = (&call.request, reply) else {
        return Vec::new();
    };
    if answer.error.is_some() || answer.status >= 300 {
        return Vec::new();
    }
    let queue = request.queue.clone().unwrap_or_default();
    let ids = |message: &Value| stage::ids_in_message(manifest, &call.dependency, message);
    let text =
        |item: &Value, member: &str| item.get(member).and_then(Value::as_str).map(str::to_owned);
    match request.action.as_str() {
        "SendMessage" => text(&answer.body, "MessageId")
            .map(|message_id| Fact::Sent {
                queue: queue.clone(),
                message_id,
                ids: ids(&request.body),
                item: request.body.clone(),
            })
            .into_iter()
            .chain(placed(&queue, &request.body, &answer.body))
            .collect(),
        "SendMessageBatch" => accepted(&request.body, &answer.body)
            .flat_map(|(entry, result)| {
                let sent = text(result, "MessageId").map(|message_id| Fact::Sent {
                    queue: queue.clone(),
                    message_id,
                    ids: ids(entry),
                    item: entry.clone(),
                });
                sent.into_iter().chain(placed(&queue, entry, result))
            })
            .collect(),
        "ReceiveMessage" => items(&answer.body, "Messages")
            .filter_map(|message| {
                Some(Fact::Delivered {
                    queue: queue.clone(),
                    message_id: text(message, "MessageId")?,
                    receipt: text(message, "ReceiptHandle")?,
                    ids: ids(message),
                    item: message.clone(),
                })
            })
            .collect(),
        "DeleteMessage" => text(&request.body, "ReceiptHandle")
            .map(|receipt| Fact::Deleted {
                receipt,
                message_id: None,
                kept: kept(answer, 0),
            })
            .into_iter()
            .collect(),
        "DeleteMessageBatch" => accepted(&request.body, &answer.body)
            .enumerate()
            .filter_map(|(place, (entry, _))| {
                Some(Fact::Deleted {
                    receipt: text(entry, "ReceiptHandle")?,
                    message_id: None,
                    kept: kept(answer, place),
                })
            })
            .collect(),
        "ChangeMessageVisibility" => visibility(&request.body).into_iter().collect(),
        "ChangeMessageVisibilityBatch" => accepted(&request.body, &answer.body)
            .filter_map(|(entry, _)| visibility(entry))
            .collect(),
        _ => Vec::new(),
    }
}

/// What the queue tells of a deletion that it calls a success.
fn kept(answer: &SqsReply, place: usize) -> Option<bool> {
    match answer.deletions.get(place)? {
        Deletion::Deleted => Some(false),
        Deletion::Kept => Some(true),
        // By this call, or by one before it whose answer nobody saw.
        Deletion::Gone => None,
    }
}

/// What one effect on a queue proves.
pub(super) fn of_effect(manifest: &Manifest, call: &Call, effect: &QueueEffect) -> Fact {
    let ids = |item: &Item| match &call.request {
        Request::Postgres(_) => table::ids_in_item(item),
        _ => subject::ids_in_item(manifest, &call.dependency, item),
    };
    match effect {
        QueueEffect::Sent(item) => Fact::Sent {
            queue: item.queue.clone(),
            message_id: item.copy.clone(),
            ids: ids(item),
            item: subject::as_message(item),
        },
        QueueEffect::Delivered(item, receipt) => Fact::Delivered {
            queue: item.queue.clone(),
            message_id: item.copy.clone(),
            receipt: receipt.clone(),
            ids: ids(item),
            item: subject::as_message(item),
        },
        QueueEffect::Deleted(item, receipt) => Fact::Deleted {
            receipt: receipt.clone(),
            message_id: Some(item.copy.clone()),
            kept: Some(false),
        },
        QueueEffect::Released(receipt) => Fact::VisibilityChanged {
            receipt: receipt.clone(),
            seconds: 0,
        },
        QueueEffect::Unseen { queue, command } => Fact::Unseen {
            queue: queue.clone(),
            command: command.clone(),
        },
    }
}

/// Only FIFO queues give a sequence number.
fn placed(queue: &str, sent: &Value, result: &Value) -> Option<Fact> {
    let text = |item: &Value, member: &str| Some(item.get(member)?.as_str()?.to_owned());
    Some(Fact::Placed {
        queue: queue.to_owned(),
        message_id: text(result, "MessageId")?,
        group: text(sent, "MessageGroupId")?,
        sequence: text(result, "SequenceNumber")?,
    })
}

fn visibility(item: &Value) -> Option<Fact> {
    Some(Fact::VisibilityChanged {
        receipt: item.get("ReceiptHandle")?.as_str()?.to_owned(),
        seconds: item.get("VisibilityTimeout")?.as_i64()?,
    })
}

fn items<'v>(body: &'v Value, member: &str) -> impl Iterator<Item = &'v Value> {
    body.get(member)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// The entries of a batch that succeeded, each with its result.
fn accepted<'v>(
    request: &'v Value,
    answer: &'v Value,
) -> impl Iterator<Item = (&'v Value, &'v Value)> {
    items(answer, "Successful").filter_map(move |result| {
        let id = result.get("Id")?;
        let entry = items(request, "Entries").find(|entry| entry.get("Id") == Some(id))?;
        Some((entry, result))
    })
}
