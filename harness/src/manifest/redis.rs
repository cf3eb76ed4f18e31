//! Reading what concerns Redis: its queues, and patterns of keys.

use indexmap::IndexMap;

use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::problem::{Defect, Noun};
use super::table::{Table, named_things, text};
use crate::protocol::redis::{KeyPattern, Kind, RedisQueue};

/// The keys that say what kind of queue it is.
const KINDS: &[&str] = &["list", "stream", "sorted_set"];

pub(super) fn read_queues<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
) -> Option<IndexMap<String, RedisQueue>> {
    let entries = named_things(cx, node, title, Noun::Queue, &[])?;
    let names: Vec<_> = entries.iter().map(|&(name, _)| name).collect();
    let queues: Vec<_> = entries
        .iter()
        .map(|&(name, node)| Some((name.to_owned(), read_queue(cx, name, node, &names)?)))
        .collect();
    queues.into_iter().collect()
}

fn read_queue<'n>(
    cx: &mut Context<'n>,
    name: &str,
    node: &'n Node,
    names: &[&str],
) -> Option<RedisQueue> {
    let table = Table::read(cx, node, keys::REDIS_QUEUE, format!("queue `{name}`"))?;
    let (kind, node) = table.exactly_one(cx, KINDS)?;
    let key = text(cx, node, &table.what(kind))?.to_owned();
    if kind != "stream" {
        table.refuse(cx, &["group"], "a `stream`");
    }
    if kind != "sorted_set" {
        table.refuse(cx, &["claim"], "a `sorted_set`");
    }
    let kind = match kind {
        "list" => Kind::List { key },
        "stream" => {
            table.refuse(cx, &["processing"], "a `list` or a `sorted_set`");
            let (group, _) = table.need_text(cx, "group")?;
            let group = group.to_owned();
            Kind::Stream { key, group }
        }
        _ => {
            let claim = match table.get("claim") {
                None => None,
                Some(node) => Some(read_key(cx, node, &table.what("claim"))?),
            };
            Kind::Sorted { key, claim }
        }
    };
    let processing = match table.get("processing") {
        None => Vec::new(),
        Some(node) => read_keys(cx, node, &table.what("processing"))?,
    };
    let dead_letter = match table.text(cx, "dead_letter")? {
        None => None,
        Some((queue, span)) => {
            cx.one_of(span, Noun::Queue, queue, names)?;
            if queue == name {
                let queue = queue.to_owned();
                cx.report(span, Defect::OwnDeadLetter { queue });
                return None;
            }
            Some(queue.to_owned())
        }
    };
    Some(RedisQueue {
        kind,
        processing,
        dead_letter,
    })
}

/// One key, or a list of them.
fn read_keys<'n>(cx: &mut Context<'n>, node: &'n Node, what: &str) -> Option<Vec<KeyPattern>> {
    let nodes = match &node.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let keys: Vec<_> = nodes.iter().map(|node| read_key(cx, node, what)).collect();
    keys.into_iter().collect()
}

/// `jobs`, `rq:job:{job}`, `result:*`.
pub(super) fn read_key<'n>(cx: &mut Context<'n>, node: &'n Node, what: &str) -> Option<KeyPattern> {
    let written = text(cx, node, what)?;
    match KeyPattern::parse(written) {
        Ok(pattern) => Some(pattern),
        Err(part) => {
            let written = written.to_owned();
            cx.report(node.span, Defect::KeyPattern { written, part });
            None
        }
    }
}
