//! Reading `stages`.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::pattern::read_calls;
use super::place::{Holder, read_capture};
use super::problem::{Defect, Noun, ProtocolName};
use super::table::{Table, named_things, text};
use super::{Binding, CapturePlace, OPERATOR, Stage};
use crate::ids::{RoleName, StageName};
use crate::tap::Side;

pub(super) fn read_stages<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<StageName, Stage>> {
    let entries = named_things(cx, node, "`stages`", Noun::Stage, &[])?;
    let stages: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| Some((name.into(), read_stage(cx, name, node)?)))
        .collect();
    stages.into_iter().collect()
}

fn read_stage<'n>(cx: &mut Context<'n>, name: &str, node: &'n Node) -> Option<Stage> {
    let table = Table::read(cx, node, keys::STAGE, format!("stage `{name}`"))?;
    let roles = table
        .need(cx, "process")
        .and_then(|node| read_roles(cx, node, &table.what("process")));
    let bound = table
        .exactly_one(cx, &["before", "after", "checkpoint"])
        .map(|(key, node)| (key, read_binding(cx, &table, key, node)));
    let capture = match (&bound, table.get("capture")) {
        (Some(("checkpoint", _)), Some(_)) => {
            table.refuse(cx, &["capture"], "a stage with `before` or `after`");
            None
        }
        (Some((_, Some((_, holder)))), Some(node)) => {
            read_captures(cx, node, &table.what("capture"), *holder)
        }
        // Without a sound binding nobody knows what can be captured.
        (_, Some(_)) => None,
        (_, None) => Some(BTreeMap::new()),
    };
    let makes = match (table.get("makes"), &capture) {
        (Some(node), Some(capture)) => {
            let names: Vec<&str> = capture.keys().map(String::as_str).collect();
            text(cx, node, &table.what("makes")).and_then(|name| {
                cx.one_of(node.span, Noun::Capture, name, &names)?;
                Some(Some(name.to_owned()))
            })
        }
        (Some(_), None) => None,
        (None, _) => Some(None),
    };
    let fleet = table.flag(cx, "fleet", false);
    let doc = table.text(cx, "doc");
    let (binding, _) = bound?.1?;
    let doc = doc?.map(|(doc, _)| doc.to_owned());
    Some(Stage {
        roles: roles?,
        binding,
        fleet: fleet?,
        capture: capture?,
        makes: makes?,
        doc,
    })
}

impl Stage {
    /// Whether it is passed with no message: one of the whole fleet, or before a receive,
    /// when nobody knows what will be received.
    pub fn is_nobodys(&self) -> bool {
        self.fleet || self.is_at_receive(Side::Before)
    }

    /// Whether its calls take messages from a queue.
    pub fn is_bound_to_receive(&self) -> bool {
        matches!(&self.binding, Binding::Boundary { pattern, .. } if pattern.is_receive())
    }

    /// Whether it stands on this side of a receive.
    pub fn is_at_receive(&self, wanted: Side) -> bool {
        matches!(&self.binding, Binding::Boundary { side, pattern, .. }
            if *side == wanted && pattern.is_receive())
    }
}

/// One process, or a list of them.
fn read_roles<'n>(cx: &mut Context<'n>, node: &'n Node, what: &str) -> Option<Vec<RoleName>> {
    let nodes = match &node.value {
        Value::List(items) if !items.is_empty() => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let roles: Vec<_> = nodes
        .iter()
        .map(|node| {
            let role = text(cx, node, what)?;
            if role != OPERATOR || cx.names.operator.is_empty() {
                cx.process(node.span, role)?;
            }
            Some(RoleName::new(role))
        })
        .collect();
    roles.into_iter().collect()
}

/// The binding, and where its calls can hold values (nowhere: bind values instead).
fn read_binding<'n>(
    cx: &mut Context<'n>,
    table: &Table<'n>,
    key: &'static str,
    node: &'n Node,
) -> Option<(Binding, Option<Holder>)> {
    let side = match key {
        "before" => Side::Before,
        "after" => Side::After,
        _ => {
            let name = text(cx, node, &table.what(key))?;
            return Some((Binding::Checkpoint(name.to_owned()), None));
        }
    };
    let calls = Table::read(cx, node, keys::CALL, table.what(key))?;
    let calls = read_calls(cx, &calls)?;
    let holder = match calls.protocol {
        ProtocolName::Postgres => None,
        ProtocolName::Sqs => Some(Holder::QueueMessage),
        ProtocolName::Http => Some(Holder::Request),
        ProtocolName::Redis => Some(Holder::Command),
    };
    let (dependency, pattern) = (calls.dependency, calls.pattern);
    if side == Side::Before && matches!(pattern, super::Pattern::Row { .. }) {
        cx.report(node.anchor(), Defect::RowBefore);
        return None;
    }
    Some((
        Binding::Boundary {
            side,
            dependency,
            pattern,
        },
        holder,
    ))
}

fn read_captures<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    title: &str,
    holder: Option<Holder>,
) -> Option<BTreeMap<String, CapturePlace>> {
    let entries = named_things(cx, node, title, Noun::Capture, &[])?;
    let captures: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| {
            let place = read_capture(cx, node, format!("`{name}` in {title}"), holder)?;
            Some((name.to_owned(), place))
        })
        .collect();
    captures.into_iter().collect()
}
