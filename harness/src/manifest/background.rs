//! Reading `background`: what a system does by itself, and how to tell that it is done.

use std::time::Duration;

use super::command::read_command;
use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::pattern::read_calls;
use super::placeholders::Placeholders;
use super::problem::Defect;
use super::route::RouteFault;
use super::table::{Table, list, wrong_type};
use super::totals::read_claim;
use super::{Background, Backlog, Tick};
use crate::ids::RoleName;

const CALLS: &[&str] = &[
    "dependency",
    "statement",
    "transaction",
    "action",
    "queue",
    "request",
];

/// All of it.
#[derive(Default)]
pub(super) struct Doings {
    pub(super) timers: Vec<Background>,
    pub(super) settle: Option<Duration>,
}

/// A list of timers and of one settle time, or one of them alone.
pub(super) fn read_background<'n>(cx: &mut Context<'n>, node: &'n Node) -> Option<Doings> {
    let items = match &node.value {
        Value::Table(_) => std::slice::from_ref(node),
        _ => list(cx, node, "`background`")?,
    };
    let mut doings = Doings::default();
    let mut whole = true;
    for (index, node) in items.iter().enumerate() {
        let title = format!("timer {} of `background`", index + 1);
        let Some(table) = Table::read(cx, node, keys::BACKGROUND, title) else {
            whole = false;
            continue;
        };
        if let Some(settle) = table.get("settle") {
            table.refuse(cx, &["process", "backlog"], "a timer");
            table.refuse(cx, CALLS, "a timer");
            if doings.settle.is_some() {
                cx.report(settle.anchor(), Defect::SettleTwice);
                whole = false;
            }
            doings.settle = table.duration(cx, "settle", Duration::ZERO);
            whole &= doings.settle.is_some();
            continue;
        }
        match read_timer(cx, &table) {
            Some(timer) => doings.timers.push(timer),
            None => whole = false,
        }
    }
    whole.then_some(doings)
}

fn read_timer<'n>(cx: &mut Context<'n>, table: &Table<'n>) -> Option<Background> {
    let role = table.need_text(cx, "process").and_then(|(name, span)| {
        cx.process(span, name)?;
        Some(RoleName::new(name))
    });
    let calls = CALLS.iter().any(|key| table.get(key).is_some());
    let backlog = match table.get("backlog") {
        None => Some(None),
        Some(node) => read_backlog(cx, node, table.what("backlog")).map(Some),
    };
    // Without a backlog nothing but a call shows that it has looked.
    let tick = if calls || matches!(backlog, Some(None)) {
        read_calls(cx, table).map(|calls| {
            Some(Tick {
                dependency: calls.dependency,
                pattern: calls.pattern,
            })
        })
    } else {
        Some(None)
    };
    Some(Background {
        role: role?,
        tick: tick?,
        backlog: backlog?,
    })
}

fn read_backlog<'n>(cx: &mut Context<'n>, node: &'n Node, title: String) -> Option<Backlog> {
    if !matches!(node.value, Value::Table(_)) {
        let expected = "a table with `query`, `command` or `process`";
        return wrong_type(cx, node, title, expected);
    }
    let table = Table::read(cx, node, keys::BACKLOG, title)?;
    let (key, _) = table.exactly_one(cx, &["query", "command", "process"])?;
    if key != "query" {
        table.refuse(cx, &["dependency"], "a backlog by `query`");
    }
    if key != "command" {
        table.refuse(cx, &["environment"], "a backlog by `command`");
    }
    if key != "process" {
        table.refuse(cx, &["request", "json"], "a backlog by `process`");
    }
    match key {
        "query" => read_claim(cx, &table, (0, 2)).map(Backlog::Query),
        "command" => {
            let placeholders = Placeholders::of_backlog(&cx.names);
            read_command(cx, &table, &placeholders).map(Backlog::Command)
        }
        _ => {
            let role = table.need_text(cx, "process").and_then(|(role, span)| {
                cx.listening(span, role, &table.title)?;
                Some(RoleName::new(role))
            });
            let path = table.need_text(cx, "request").and_then(|(written, span)| {
                let path = written.strip_prefix("GET ").unwrap_or(written).trim_start();
                if path.starts_with('/') {
                    return Some(path.to_owned());
                }
                let (written, fault) = (written.to_owned(), RouteFault::NoSlash);
                cx.report(span, Defect::Route { written, fault });
                None
            });
            let json = table.need_json_path(cx, "json");
            Some(Backlog::Request {
                role: role?,
                path: path?,
                json: json?,
            })
        }
    }
}
