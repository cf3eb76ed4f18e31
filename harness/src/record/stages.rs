//! Stages named after what a process does there, and which of them looks like the end.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use super::seen::{Seen, delivered};
use crate::ids::{DependencyName, MessageName, RoleName};
use crate::manifest::{Entry, Manifest};
use crate::rehearsal::Passed;
use crate::shape::{Asked, Shape};
use crate::tap::{Reply, Request, Statement};

/// A call that a process makes for each message, with an effect that stays.
struct Found {
    role: RoleName,
    shape: Shape,
    /// The call as a manifest writes it.
    call: String,
    /// What it would be called if there were no other.
    name: String,
    /// What sets it apart from others of that name.
    further: Option<String>,
    /// The table that it fills and from where.
    filled: Option<(DependencyName, String)>,
    /// Whether it moves a message of a queue, and nothing else.
    of_queue: bool,
}

/// What is proposed.
#[derive(Default)]
pub(super) struct Stages {
    pub(super) names: Vec<Entry>,
    /// The end, with the stage that witnesses it.
    pub(super) end: Option<Entry>,
    /// Whether the end is passed once only, also by a system that repeats what it did.
    pub(super) once: bool,
    /// A total that holds the end against what the system has stored.
    pub(super) total: Option<Entry>,
}

/// Proposes stages for all calls that each message passes in each run.
pub(super) fn propose(manifest: &Manifest, runs: &[Seen], messages: &[MessageName]) -> Stages {
    let mut found: Vec<Found> = Vec::new();
    for role in manifest.processes.keys() {
        found.extend(of_role(manifest, role, runs, messages));
    }
    let names = distinct(&found);
    let stages = found.iter().zip(&names).map(|(one, name)| Entry {
        key: names::yaml(name),
        value: format!("{{ process: {}, after: {} }}", one.role, one.call),
        comment: None,
    });
    let end = last(&found, runs, messages);
    let named_end = end.map(|index| names::yaml(&names[index]));
    let total = end.and_then(|index| found[index].filled.as_ref().map(|filled| (index, filled)));
    Stages {
        names: stages.chain(announced(manifest, runs)).collect(),
        once: total.is_some(),
        end: named_end.map(|stage| Entry {
            key: "done".to_owned(),
            value: format!("{{ stage: {stage} }}"),
            comment: None,
        }),
        total: total.map(|(index, (dependency, table))| {
            let query = names::yaml(&format!("select count(*) from {table}"));
            let stage = names::yaml(&names[index]);
            Entry {
                key: "done".to_owned(),
                value: format!(
                    "{{ witness: {{ add: [{stage}], distinct: true }}, claim: {{ dependency: {dependency}, query: {query} }} }}"
                ),
                comment: None,
            }
        }),
    }
}

/// Stages that processes announce by themselves.
fn announced(manifest: &Manifest, runs: &[Seen]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for role in manifest.processes.keys() {
        for stage in runs.iter().flat_map(|run| run.announced(role)) {
            let key = names::yaml(&stage);
            if !entries.iter().any(|entry| entry.key == key) {
                entries.push(Entry {
                    value: format!("{{ process: {role}, checkpoint: {key} }}"),
                    key,
                    comment: None,
                });
            }
        }
    }
    entries
}

fn of_role(
    manifest: &Manifest,
    role: &RoleName,
    runs: &[Seen],
    messages: &[MessageName],
) -> Vec<Found> {
    let own = |run: usize| {
        let calls = runs[run].calls.iter();
        calls.filter(|passed| Seen::role(passed) == Some(role) && leaves_a_trace(passed))
    };
    let mut found: Vec<Found> = Vec::new();
    for passed in own(0) {
        if found.iter().any(|one| one.shape == passed.shape) {
            continue;
        }
        let passes_all = (0..runs.len()).all(|run| {
            let same = own(run).filter(|other| other.shape == passed.shape);
            let named: BTreeSet<MessageName> =
                same.flat_map(|other| runs[run].messages(other)).collect();
            messages.iter().all(|message| named.contains(message))
        });
        if passes_all {
            found.extend(of_call(manifest, role, runs, passed));
        }
    }
    found
}

/// Whether something is different for good once a call was made.
fn leaves_a_trace(passed: &Passed) -> bool {
    match (&passed.call.request, passed.reply.as_deref()) {
        (Request::Sqs(request), Some(Reply::Sqs(reply))) => {
            let moves = [
                "SendMessage",
                "SendMessageBatch",
                "DeleteMessage",
                "DeleteMessageBatch",
            ];
            reply.error.is_none()
                && (moves.contains(&request.action.as_str()) || delivered(passed).next().is_some())
        }
        (Request::Http(request), Some(Reply::Http(reply))) => {
            let reads = ["GET", "HEAD", "OPTIONS"];
            (200..300).contains(&reply.status)
                && !reads.contains(&request.method.to_ascii_uppercase().as_str())
        }
        (_, Some(_)) => passed.durable,
        (_, None) => false,
    }
}

fn of_call(manifest: &Manifest, role: &RoleName, runs: &[Seen], passed: &Passed) -> Option<Found> {
    let dependency = &passed.call.dependency;
    // What processes ask of each other is a dependency of nobody.
    manifest.dependencies.get(dependency)?;
    let found = |call: String, name: String, further: Option<String>| Found {
        role: role.clone(),
        shape: passed.shape.clone(),
        call,
        name: names::stage(&name),
        further,
        filled: None,
        of_queue: false,
    };
    match &passed.shape.asked {
        Asked::Action { action, queue } => {
            let queue = queue.as_ref()?;
            let action = action.strip_suffix("Batch").unwrap_or(action);
            let (name, way) = match action {
                "ReceiveMessage" => ("received", "from"),
                "DeleteMessage" => ("deleted", "from"),
                "SendMessage" => ("sent", "to"),
                _ => return None,
            };
            let call = format!("{{ dependency: {dependency}, action: {action}, queue: {queue} }}");
            Some(Found {
                of_queue: true,
                ..found(
                    call,
                    name.to_owned(),
                    Some(format!("{way} {}", names::stage(queue))),
                )
            })
        }
        Asked::Request { method, path } => {
            let routes = manifest.dependencies.get(dependency)?.routes();
            let route = routes.iter().find(|route| {
                passed.shape.asked
                    == Asked::Request {
                        method: method.clone(),
                        path: crate::shape::without_ids(manifest, dependency, &route.path),
                    }
            });
            let path = route.map_or_else(|| path.replace("{}", "*"), |route| route.path.clone());
            let request = names::yaml(&format!("{method} {path}"));
            let call = format!("{{ dependency: {dependency}, request: {request} }}");
            let fixed = path
                .split('/')
                .filter(|segment| !segment.starts_with(['{', '*']));
            let name = format!("{method} {}", fixed.collect::<Vec<_>>().join("/"));
            Some(found(call, name, None))
        }
        Asked::Statements(_) | Asked::Commit(_) => {
            let statement = telling(runs, passed)?;
            let others = others(runs, role, statement);
            let text = names::statement(statement, &others)?;
            let call = format!(
                "{{ dependency: {dependency}, transaction: {} }}",
                names::yaml(&text)
            );
            // What is written over leaves the same again.
            let over = statement.sql.find(&"do update".into()).is_some();
            let table = names::inserted(statement).filter(|_| !over);
            Some(Found {
                filled: table.map(|table| (dependency.clone(), table)),
                ..found(
                    call,
                    names::head(statement)?,
                    Some(names::stage(&text.to_lowercase())),
                )
            })
        }
        Asked::Commands(commands) => {
            let [command] = commands.as_slice() else {
                return None;
            };
            let mut words = command.split_whitespace();
            let (name, key) = (words.next()?, words.next());
            let of_key = key.map_or_else(String::new, |key| {
                let key = serde_json::Value::from(key.replace("{}", "*"));
                format!(", key: {key}")
            });
            let call = format!("{{ dependency: {dependency}, command: {name}{of_key} }}");
            Some(found(call, command.clone(), None))
        }
    }
}

/// The statement that says best what a round trip made durable: an insert that names a
/// message, else another one that does.
fn telling<'s>(runs: &[Seen], passed: &'s Passed) -> Option<&'s Statement> {
    let Some(Reply::Postgres(reply)) = passed.reply.as_deref() else {
        return None;
    };
    let names_one = |statement: &&Statement| {
        runs.iter()
            .any(|run| !run.in_statement(statement).is_empty())
    };
    let wrote = || {
        reply
            .durable
            .iter()
            .filter(|one| one.wrote.is_some_and(|rows| rows > 0))
    };
    let inserts = || wrote().filter(|one| names::inserted(one).is_some());
    inserts()
        .find(names_one)
        .or_else(|| wrote().rfind(names_one))
        .or_else(|| inserts().next_back())
        .or_else(|| wrote().next_back())
}

/// The other statements of a process.
fn others<'s>(runs: &'s [Seen], role: &RoleName, own: &Statement) -> Vec<&'s Statement> {
    let calls = runs.iter().flat_map(|run| &run.calls);
    let calls = calls.filter(|passed| Seen::role(passed) == Some(role));
    let requests = calls.filter_map(|passed| match &passed.call.request {
        Request::Postgres(request) => Some(request),
        _ => None,
    });
    names::others(own, requests.flat_map(|request| &request.statements))
}

/// A name for each, with as much added as sets them apart.
fn distinct(found: &[Found]) -> Vec<String> {
    let plain: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
    let is_alone = |names: &[String], index: usize| {
        names.iter().filter(|name| **name == names[index]).count() == 1
    };
    let further: Vec<String> = found
        .iter()
        .enumerate()
        .map(|(index, one)| match &one.further {
            Some(_) if is_alone(&plain, index) => one.name.clone(),
            Some(further) if one.of_queue => format!("{} {further}", one.name),
            Some(further) => further.clone(),
            None => one.name.clone(),
        })
        .collect();
    let by_role: Vec<String> = found
        .iter()
        .enumerate()
        .map(|(index, one)| {
            if is_alone(&further, index) {
                further[index].clone()
            } else {
                format!("{} by {}", further[index], one.role)
            }
        })
        .collect();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    by_role
        .iter()
        .map(|name| {
            let count = counts.entry(name).or_default();
            *count += 1;
            if *count == 1 {
                name.clone()
            } else {
                format!("{name} {count}")
            }
        })
        .collect()
}

/// The last effect of each message in each run, if it is the same one: of the process that
/// took it from its last queue, of any where there is no queue.
fn last(found: &[Found], runs: &[Seen], messages: &[MessageName]) -> Option<usize> {
    let mut end = None;
    for run in runs {
        for message in messages {
            let mut passages = Vec::new();
            for passed in &run.calls {
                let of = found.iter().position(|one| {
                    Seen::role(passed) == Some(&one.role) && passed.shape == one.shape
                });
                if let Some(index) = of
                    && leaves_a_trace(passed)
                    && run.messages(passed).contains(message)
                {
                    passages.push(index);
                }
            }
            let taker = passages.iter().rev().find(|index| {
                let one = &found[**index];
                one.of_queue && one.name == "deleted"
            });
            let role = taker.map(|index| &found[*index].role);
            let own = passages.iter().rev().find(|index| {
                let one = &found[**index];
                !one.of_queue && role.is_none_or(|role| one.role == *role)
            })?;
            if end.is_some_and(|end| end != *own) {
                return None;
            }
            end = Some(*own);
        }
    }
    end
}
