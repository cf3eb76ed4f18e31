//! Reading `processes`.

use std::time::Duration;

use indexmap::IndexMap;

use super::command::read_command;
use super::container::{read_container, read_size};
use super::context::Context;
use super::keys;
use super::node::{Node, Value};
use super::pattern::read_calls;
use super::placeholders::Placeholders;
use super::problem::{Defect, Noun, ProtocolName};
use super::table::{Table, choice, named_things, text, wrong_type};
use super::{Container, Pattern, Process, Ready, Restart};
use crate::ids::{DependencyName, RoleName};

/// How long a process may take to become ready.
const READY_WITHIN: Duration = Duration::from_secs(15);
/// How long a requested stop may take.
const STOP_WITHIN: Duration = Duration::from_secs(10);
/// More instances of one process than this are a slip of the pen.
pub const MOST_INSTANCES: u32 = 100;

pub(super) fn read_processes<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
) -> Option<IndexMap<RoleName, Process>> {
    let entries = named_things(cx, node, "`processes`", Noun::Process, &["client"])?;
    if entries.is_empty() {
        cx.report(
            node.anchor(),
            Defect::Empty {
                what: "`processes`".to_owned(),
            },
        );
        return None;
    }
    let processes: Vec<_> = entries
        .into_iter()
        .map(|(name, node)| Some((name.into(), read_process(cx, name, node)?)))
        .collect();
    processes.into_iter().collect()
}

fn read_process<'n>(cx: &mut Context<'n>, name: &str, node: &'n Node) -> Option<Process> {
    let table = Table::read(cx, node, keys::PROCESS, format!("process `{name}`"))?;
    let placeholders = Placeholders::of_process(&cx.names, name);
    let command = read_command(cx, &table, &placeholders);
    let instances = table.number(cx, "instances", 1, (0, MOST_INSTANCES.into()));
    let listens = table.flag(cx, "listens", false);
    let restart = match table.get("restart") {
        None => Some(Restart::After(Duration::ZERO)),
        Some(node) => read_restart(cx, node, table.what("restart")),
    };
    let consumes = match table.get("consumes") {
        None => Some(Vec::new()),
        Some(node) => read_consumed(cx, node, &table.what("consumes")),
    };
    let ready = match table.get("ready") {
        Some(node) => read_ready(cx, node, name),
        None => Some(
            match first_receive(consumes.as_deref().unwrap_or_default()) {
                Ready::Started if listens == Some(true) => Ready::Listening,
                ready => ready,
            },
        ),
    };
    let ready_within = table.duration(cx, "ready_within", READY_WITHIN);
    let stop_within = table.duration(cx, "stop_within", STOP_WITHIN);
    let memory = match table.get("memory") {
        None => Some(None),
        Some(node) => read_size(cx, node, table.what("memory")).map(Some),
    };
    let container = match table.get("container") {
        None => Some(Container::default()),
        Some(node) => read_container(cx, node, table.what("container")),
    };
    Some(Process {
        command: command?,
        instances: u32::try_from(instances?).ok()?,
        listens: listens?,
        ready: ready?,
        restart: restart?,
        consumes: consumes?,
        ready_within: ready_within?,
        stop_within: stop_within?,
        memory: memory?,
        container: container?,
    })
}

/// `always`, `never` or `{ after: 500ms }`.
fn read_restart<'n>(cx: &mut Context<'n>, node: &'n Node, what: String) -> Option<Restart> {
    match &node.value {
        Value::Text(written) => {
            let chosen = choice(cx, node.span, what, written, &["always", "never"])?;
            Some(match chosen {
                "never" => Restart::Never,
                _ => Restart::After(Duration::ZERO),
            })
        }
        Value::Table(_) => {
            let table = Table::read(cx, node, keys::RESTART, what)?;
            table.need(cx, "after")?;
            let after = table.duration(cx, "after", Duration::ZERO)?;
            Some(Restart::After(after))
        }
        _ => wrong_type(cx, node, what, "`always`, `never`, or a table with `after`"),
    }
}

/// A consumer is ready once it asked for a message, of several queues at any of them.
fn first_receive(consumes: &[(DependencyName, String)]) -> Ready {
    let Some((dependency, queue)) = consumes.first() else {
        return Ready::Started;
    };
    Ready::Call {
        dependency: dependency.clone(),
        pattern: Pattern::Action {
            action: "ReceiveMessage".to_owned(),
            queue: (consumes.len() == 1).then(|| queue.clone()),
        },
    }
}

/// One queue, or a list of them.
fn read_consumed<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    what: &str,
) -> Option<Vec<(DependencyName, String)>> {
    let Value::List(items) = &node.value else {
        return Some(vec![read_queue(cx, node, what)?]);
    };
    if items.is_empty() {
        let what = what.to_owned();
        cx.report(node.anchor(), Defect::Empty { what });
        return None;
    }
    let queues: Vec<_> = items
        .iter()
        .map(|item| read_queue(cx, item, what))
        .collect();
    queues.into_iter().collect()
}

/// `started`, `listening`, `{ http: /path }`, `{ call: … }` or `{ output: … }`.
fn read_ready<'n>(cx: &mut Context<'n>, node: &'n Node, process: &str) -> Option<Ready> {
    let title = format!("`ready` of process `{process}`");
    if let Value::Text(written) = &node.value {
        let known = &["started", "listening"];
        if choice(cx, node.span, title.clone(), written, known)? == "started" {
            return Some(Ready::Started);
        }
        cx.listening(node.anchor(), process, &title)?;
        return Some(Ready::Listening);
    }
    if !matches!(node.value, Value::Table(_)) {
        let expected = "`started`, `listening`, or a table with `http`, `call` or `output`";
        return wrong_type(cx, node, title, expected);
    }
    let table = Table::read(cx, node, keys::READY, title)?;
    let (key, node) = table.exactly_one(cx, &["http", "call", "output"])?;
    let what = table.what(key);
    match key {
        "http" => {
            let path = text(cx, node, &what)?;
            cx.listening(node.anchor(), process, &what)?;
            if !path.starts_with('/') {
                let fault = super::route::RouteFault::NoSlash;
                cx.report(
                    node.span,
                    Defect::Route {
                        written: path.to_owned(),
                        fault,
                    },
                );
                return None;
            }
            Some(Ready::Http(path.to_owned()))
        }
        "call" => {
            let table = Table::read(cx, node, keys::CALL, what)?;
            {
                let calls = read_calls(cx, &table)?;
                Some(Ready::Call {
                    dependency: calls.dependency,
                    pattern: calls.pattern,
                })
            }
        }
        _ => Some(Ready::Output(text(cx, node, &what)?.to_owned())),
    }
}

/// `dependency/queue`.
pub(super) fn read_queue<'n>(
    cx: &mut Context<'n>,
    node: &'n Node,
    what: &str,
) -> Option<(DependencyName, String)> {
    let written = text(cx, node, what)?;
    let Some((dependency, queue)) = written.split_once('/') else {
        cx.report(
            node.span,
            Defect::Consumes {
                written: written.to_owned(),
            },
        );
        return None;
    };
    let names = cx.dependency(node.span, dependency)?;
    if let Some(protocol) = names.protocol.filter(|&protocol| !protocol.has_queues()) {
        let (what, dependency) = (what.to_owned(), dependency.to_owned());
        let needed = ProtocolName::Sqs;
        cx.report(
            node.span,
            Defect::WrongProtocol {
                what,
                needed,
                dependency,
                protocol,
            },
        );
        return None;
    }
    cx.one_of(node.span, Noun::Queue, queue, &names.queues)?;
    Some((dependency.into(), queue.to_owned()))
}
