//! Calls and replies: in a line for people who read a history, and as the facts that
//! judges go by.

use serde_json::Value;

use crate::history::Said;
use crate::protocol::redis;
use crate::tap::{Call, Reply, Request, TransactionStatus};

/// What a call asks for.
pub(super) fn request(call: &Call) -> String {
    match &call.request {
        Request::Http(request) => format!("{} {}", request.method, request.path),
        Request::Sqs(request) => match &request.queue {
            Some(queue) => format!("{} {queue}", request.action),
            None => request.action.clone(),
        },
        Request::Postgres(request) => {
            let texts: Vec<&str> = request
                .statements
                .iter()
                .map(|statement| &*statement.sql)
                .collect();
            shortened(&texts.join("; "))
        }
        Request::Redis(request) => shortened(&redis::describe::request(request)),
    }
}

/// So many words tell what a statement does, and to what: `insert into orders`.
const ACTION_WORDS: usize = 3;

/// What a call does, as facts: the action of a queue, the method of a request, the first
/// word of each statement, each once, the commands of Redis with their keys.
pub(super) fn actions(call: &Call) -> Vec<String> {
    match &call.request {
        Request::Http(request) => vec![request.method.clone()],
        Request::Sqs(request) => vec![request.action.clone()],
        Request::Postgres(request) => {
            let mut words: Vec<String> = request
                .statements
                .iter()
                .map(|statement| {
                    let words = statement.sql.split_whitespace().take(ACTION_WORDS);
                    words.collect::<Vec<_>>().join(" ").to_lowercase()
                })
                .collect();
            words.dedup();
            words
        }
        Request::Redis(request) => {
            let commands = request.commands.iter();
            commands.map(redis::describe::command).collect()
        }
    }
}

/// The deliveries that a call to a queue names.
pub(super) fn receipts(call: &Call) -> Vec<String> {
    let Request::Sqs(request) = &call.request else {
        return Vec::new();
    };
    let entries = request.body.get("Entries").and_then(Value::as_array);
    std::iter::once(&request.body)
        .chain(entries.into_iter().flatten())
        .filter_map(|item| item.get("ReceiptHandle")?.as_str())
        .map(str::to_owned)
        .collect()
}

/// The status code of a reply, where its protocol has one.
pub(super) fn status(reply: &Reply) -> Option<u16> {
    match reply {
        Reply::Http(reply) => Some(reply.status),
        Reply::Sqs(reply) => Some(reply.status),
        Reply::Postgres(_) | Reply::Redis(_) | Reply::Broken { .. } => None,
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a call says: its body, parameters, or statements with their values.
pub(super) fn said(call: &Call) -> Said {
    match &call.request {
        Request::Http(request) => Said {
            statements: None,
            content: request.body.to_vec(),
        },
        Request::Sqs(request) => Said {
            statements: None,
            content: request.body.to_string().into_bytes(),
        },
        Request::Postgres(request) => {
            let statements: Vec<&str> = request.statements.iter().map(|one| &*one.sql).collect();
            let bound: Vec<String> = request
                .statements
                .iter()
                .map(|statement| {
                    let binds: Vec<String> = statement
                        .binds
                        .iter()
                        .map(|bind| format!("{bind:?}"))
                        .collect();
                    format!("[{}]", binds.join(", "))
                })
                .collect();
            let binds_nothing = bound.iter().all(|values| values == "[]");
            Said {
                statements: Some(statements.join("\n")),
                content: if binds_nothing {
                    Vec::new()
                } else {
                    bound.join("\n").into_bytes()
                },
            }
        }
        Request::Redis(request) => Said {
            statements: None,
            content: redis::describe::content(request),
        },
    }
}

/// The outcome of a call.
pub(super) fn reply(reply: &Reply) -> String {
    match reply {
        Reply::Http(reply) => reply.status.to_string(),
        Reply::Sqs(reply) => {
            let messages = reply.body.get("Messages").and_then(Value::as_array);
            match (&reply.error, messages) {
                (Some(error), _) => format!("{} {error}", reply.status),
                (None, Some(messages)) => format!("{} ({} messages)", reply.status, messages.len()),
                (None, None) => reply.status.to_string(),
            }
        }
        Reply::Postgres(reply) => match &reply.error {
            Some(error) => format!("error {} {}", error.code, error.message),
            None => reply.tags.join("; "),
        },
        Reply::Redis(reply) => redis::describe::reply(reply),
        Reply::Broken { reason } => format!("broken: {reason}"),
    }
}

/// The content of a reply, unless the facts that follow it tell all of it.
pub(super) fn reply_content(reply: &Reply) -> Vec<u8> {
    match reply {
        Reply::Http(reply) => reply.body.to_vec(),
        Reply::Sqs(_) if is_success(reply) && is_told(reply) => Vec::new(),
        Reply::Sqs(reply) => reply.body.to_string().into_bytes(),
        Reply::Redis(reply) => redis::describe::reply_content(reply),
        Reply::Postgres(_) | Reply::Broken { .. } => Vec::new(),
    }
}

/// Whether a queue's answer holds nothing but what was sent or handed over.
fn is_told(reply: &Reply) -> bool {
    const TOLD: [&str; 5] = [
        "Messages",
        "MessageId",
        "MD5OfMessageBody",
        "MD5OfMessageAttributes",
        "SequenceNumber",
    ];
    let Reply::Sqs(reply) = reply else {
        return false;
    };
    match &reply.body {
        Value::Object(members) => members.keys().all(|name| TOLD.contains(&name.as_str())),
        body => body.is_null(),
    }
}

/// Whether a reply reports success.
pub(super) fn is_success(reply: &Reply) -> bool {
    match reply {
        Reply::Http(reply) => reply.status < 400,
        Reply::Sqs(reply) => reply.error.is_none() && reply.status < 300,
        Reply::Postgres(reply) => reply.error.is_none(),
        Reply::Redis(reply) => reply.error.is_none(),
        Reply::Broken { .. } => false,
    }
}

/// Whether a call changed something at its dependency for good. Facts of the queue are
/// changes by themselves and do not count here.
pub(super) fn wrote(call: &Call, reply: &Reply) -> bool {
    match (&call.request, reply) {
        (Request::Http(request), Reply::Http(reply)) => {
            reply.status < 400 && !matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS")
        }
        (_, Reply::Postgres(reply)) => reply
            .durable
            .iter()
            .any(|statement| statement.wrote.is_some_and(|rows| rows > 0)),
        (Request::Redis(request), Reply::Redis(reply)) => request
            .effective(reply)
            .any(|(command, answer)| command.wrote(answer)),
        _ => false,
    }
}

/// Whether a round trip left a transaction open.
pub(super) fn is_in_transaction(reply: &Reply) -> Option<bool> {
    match reply {
        Reply::Postgres(reply) => Some(reply.status != TransactionStatus::Idle),
        _ => None,
    }
}

/// Whether a round trip wrote something in a transaction that is still open.
pub(super) fn writes_on(reply: &Reply) -> Option<bool> {
    let Reply::Postgres(reply) = reply else {
        return None;
    };
    if reply.status == TransactionStatus::Idle {
        return Some(false);
    }
    let wrote = reply.tags.iter().any(|tag| {
        let mut words = tag.split(' ');
        let verb = words.next().unwrap_or_default();
        matches!(verb, "INSERT" | "UPDATE" | "DELETE" | "MERGE")
            && words.next_back().is_some_and(|count| count != "0")
    });
    wrote.then_some(true)
}
