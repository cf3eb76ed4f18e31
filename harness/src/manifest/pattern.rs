//! Which calls are meant: reading patterns, checking them against the protocol of their
//! dependency, and saying them in words.

use super::context::Context;
use super::node::Node;
use super::problem::{Defect, Noun, ProtocolName};
use super::redis::read_key;
use super::route::{check_path_pattern, split_request};
use super::table::{Table, choice, text};
use super::{Pattern, RowChange};
use crate::ids::DependencyName;
use crate::protocol::redis;
use crate::sql::Sql;

const PATTERNS: &[&str] = &[
    "statement",
    "transaction",
    "row",
    "action",
    "request",
    "command",
];

/// The actions of SQS.
pub(crate) const ACTIONS: &[&str] = &[
    "SendMessage",
    "SendMessageBatch",
    "ReceiveMessage",
    "DeleteMessage",
    "DeleteMessageBatch",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
    "GetQueueUrl",
    "GetQueueAttributes",
    "SetQueueAttributes",
    "CreateQueue",
    "DeleteQueue",
    "PurgeQueue",
    "ListQueues",
    "ListDeadLetterSourceQueues",
    "StartMessageMoveTask",
    "CancelMessageMoveTask",
    "ListMessageMoveTasks",
    "TagQueue",
    "UntagQueue",
    "ListQueueTags",
    "AddPermission",
    "RemovePermission",
];

/// Calls on one wire.
pub(super) struct Calls {
    pub(super) dependency: DependencyName,
    pub(super) protocol: ProtocolName,
    pub(super) pattern: Pattern,
}

/// The keys `dependency` and one of `statement`, `transaction`, `action` (with `queue`),
/// `request` and `command` (with `key`).
pub(super) fn read_calls<'n>(cx: &mut Context<'n>, table: &Table<'n>) -> Option<Calls> {
    let dependency = table.need_text(cx, "dependency").and_then(|(name, span)| {
        let names = cx.dependency(span, name)?;
        Some((name, names))
    });
    let protocol = dependency.as_ref().and_then(|(_, names)| names.protocol);
    let sought = protocol.map_or(PATTERNS, ProtocolName::patterns);
    let there = PATTERNS.iter().any(|&key| table.get(key).is_some());
    if let ([only], false) = (sought, there) {
        table.need(cx, only)?;
    }
    let (key, node) = table.exactly_one(cx, if there { PATTERNS } else { sought })?;
    let (name, names) = dependency?;
    let protocol = protocol?;
    if !protocol.patterns().contains(&key) {
        let dependency = name.to_owned();
        cx.report(
            node.anchor(),
            Defect::PatternDoesNotFit {
                key,
                dependency,
                protocol,
            },
        );
        return None;
    }
    if !matches!(key, "action" | "row") {
        table.refuse(cx, &["queue"], "an `action` or a `row`");
    }
    if key != "row" {
        table.refuse(cx, &["becomes"], "a `row`");
    }
    if key != "command" {
        table.refuse(cx, &["key"], "a `command`");
    }
    let pattern = match key {
        "command" => {
            let written = text(cx, node, &table.what(key))?;
            let command = written.to_ascii_uppercase();
            cx.one_of(node.span, Noun::Command, &command, &redis::known())?;
            let key = match table.get("key") {
                None => None,
                Some(node) => Some(read_key(cx, node, &table.what("key"))?),
            };
            Pattern::Command { command, key }
        }
        "row" => read_row(cx, node, table, &names.queues)?,
        "statement" => Pattern::Statement(read_sql(cx, node, table)?),
        "transaction" => Pattern::Transaction(read_sql(cx, node, table)?),
        "action" => {
            let what = table.what(key);
            let action = text(cx, node, &what).and_then(|action| {
                cx.one_of(node.span, Noun::Action, action, ACTIONS)?;
                Some(action.to_owned())
            });
            let queue = match table.text(cx, "queue")? {
                None => None,
                Some((queue, span)) => {
                    cx.one_of(span, Noun::Queue, queue, &names.queues)?;
                    Some(queue.to_owned())
                }
            };
            Pattern::Action {
                action: action?,
                queue,
            }
        }
        _ => {
            let what = table.what(key);
            let written = text(cx, node, &what)?;
            let (method, path) = read_request_pattern(cx, node, written)?;
            Pattern::Request { method, path }
        }
    };
    Some(Calls {
        dependency: name.into(),
        protocol,
        pattern,
    })
}

/// What becomes of a row, of which queue, and what a column of it has to read then.
fn read_row<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    table: &Table<'n>,
    queues: &[&str],
) -> Option<Pattern> {
    let what = table.what("row");
    let written = text(cx, node, &what)?;
    let written = choice(cx, node.span, what, written, RowChange::KEYS)?;
    let change = RowChange::named(written)?;
    let queue = match table.text(cx, "queue")? {
        Some((queue, span)) => {
            cx.one_of(span, Noun::Queue, queue, queues)?;
            queue.to_owned()
        }
        None if queues.len() == 1 => queues[0].to_owned(),
        None => table.need_text(cx, "queue")?.0.to_owned(),
    };
    let becomes = match table.text(cx, "becomes")? {
        None => None,
        Some((written, span)) => {
            let Some((column, value)) = written.split_once('=') else {
                let written = written.to_owned();
                cx.report(span, Defect::Becomes { written });
                return None;
            };
            let value = value.trim().trim_matches('\'');
            Some((column.trim().to_owned(), value.to_owned()))
        }
    };
    Some(Pattern::Row {
        change,
        queue,
        becomes,
    })
}

/// A part of a statement.
pub(super) fn read_sql<'n>(cx: &mut Context<'n>, node: &'n Node, table: &Table<'n>) -> Option<Sql> {
    text(cx, node, &table.what("statement")).map(Sql::from)
}

/// `METHOD /path/pattern`.
pub(super) fn read_request_pattern(
    cx: &mut Context<'_>,
    node: &Node,
    written: &str,
) -> Option<(String, String)> {
    let read = split_request(written).and_then(|(method, path)| {
        check_path_pattern(path)?;
        Ok((method.to_owned(), path.to_owned()))
    });
    match read {
        Ok(request) => Some(request),
        Err(fault) => {
            let written = written.to_owned();
            cx.report(node.span, Defect::Route { written, fault });
            None
        }
    }
}

impl Pattern {
    /// Whether its calls take messages from a queue.
    pub fn is_receive(&self) -> bool {
        match self {
            Self::Action { action, .. } => action == "ReceiveMessage",
            Self::Command { command, .. } => redis::is_receive(command),
            _ => false,
        }
    }

    /// The calls as a person names their shape: `insert into jobs`, `SendMessage jobs`.
    pub fn written(&self) -> String {
        let with = |first: &str, rest: Option<String>| match rest {
            Some(rest) => format!("{first} {rest}"),
            None => first.to_owned(),
        };
        match self {
            Self::Statement(text) | Self::Transaction(text) => text.to_lowercase(),
            Self::Action { action, queue } => with(action, queue.clone()),
            Self::Command { command, key } => with(command, key.as_ref().map(ToString::to_string)),
            Self::Row { change, queue, .. } => format!("{} {queue}", change.key()),
            Self::Request { method, path } if method == "*" => format!("GET {path}"),
            Self::Request { method, path } => format!("{method} {path}"),
        }
    }

    /// The calls in words: ``a transaction with `insert into jobs` ``.
    pub fn describe(&self) -> String {
        match self {
            Self::Statement(text) => format!("a statement with `{}`", text.to_lowercase()),
            Self::Transaction(text) => format!("a transaction with `{}`", text.to_lowercase()),
            Self::Action {
                action,
                queue: None,
            } => format!("{action} on any queue"),
            Self::Action {
                action,
                queue: Some(queue),
            } => format!("{action} on queue `{queue}`"),
            Self::Command { command, key: None } => command.clone(),
            Self::Command {
                command,
                key: Some(key),
            } => format!("{command} {key}"),
            Self::Row {
                change,
                queue,
                becomes,
            } => {
                let becomes = becomes.as_ref();
                let becomes = becomes.map(|(column, value)| format!(" with {column} = {value}"));
                let becomes = becomes.unwrap_or_default();
                format!("a row of `{queue}` {}{becomes}", change.key())
            }
            Self::Request { method, path } if method == "*" => format!("any request to {path}"),
            Self::Request { method, path } => format!("{method} {path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_said_in_words() {
        let action = |queue: Option<&str>| Pattern::Action {
            action: "SendMessage".to_owned(),
            queue: queue.map(str::to_owned),
        };
        let request = |method: &str| Pattern::Request {
            method: method.to_owned(),
            path: "/orders/*".to_owned(),
        };
        let said = [
            Pattern::Transaction("INSERT  into Orders".into()).describe(),
            action(None).describe(),
            action(Some("jobs")).describe(),
            request("POST").describe(),
            request("*").describe(),
        ];
        assert_eq!(
            said,
            [
                "a transaction with `insert into orders`",
                "SendMessage on any queue",
                "SendMessage on queue `jobs`",
                "POST /orders/*",
                "any request to /orders/*",
            ]
        );
    }
}
