//! Who consumes which queue, and what processes do again and again by themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use super::places::all_statements;
use super::seen::Seen;
use crate::ids::{DependencyName, RoleName};
use crate::manifest::{Manifest, Protocol};
use crate::shape::Asked;
use crate::tap::{Request, Statement};

/// How often a call is made at least that a timer makes.
const LEAST: usize = 3;

/// Queues by the process that receives from them, where the manifest says nothing.
pub(super) fn consumers(
    manifest: &Manifest,
    runs: &[Seen],
) -> BTreeMap<RoleName, BTreeSet<String>> {
    let mut consumers = of_redis(manifest, runs);
    for passed in runs.iter().flat_map(|run| &run.calls) {
        let (Some(role), Asked::Action { action, queue }) =
            (Seen::role(passed), &passed.shape.asked)
        else {
            continue;
        };
        let silent = manifest
            .processes
            .get(role)
            .is_some_and(|process| process.consumes.is_empty());
        let Some(queue) = queue
            .as_ref()
            .filter(|_| silent && action == "ReceiveMessage")
        else {
            continue;
        };
        let dependency = &passed.shape.dependency;
        let known = manifest
            .queues()
            .any(|(of, name)| of == dependency && name == queue);
        if known {
            let own = consumers.entry(role.clone()).or_default();
            own.insert(format!("{dependency}/{queue}"));
        }
    }
    consumers
}

/// The same of queues in Redis: whoever takes from their key.
fn of_redis(manifest: &Manifest, runs: &[Seen]) -> BTreeMap<RoleName, BTreeSet<String>> {
    let mut consumers: BTreeMap<RoleName, BTreeSet<String>> = BTreeMap::new();
    for passed in runs.iter().flat_map(|run| &run.calls) {
        let (Some(role), Request::Redis(request)) = (Seen::role(passed), &passed.call.request)
        else {
            continue;
        };
        let process = manifest.processes.get(role);
        if process.is_none_or(|process| !process.consumes.is_empty()) {
            continue;
        }
        let dependency = &passed.call.dependency;
        let Some(Protocol::Redis { queues }) = manifest
            .dependencies
            .get(dependency)
            .map(|one| &one.protocol)
        else {
            continue;
        };
        for command in request.commands.iter().filter(|one| takes(&one.name)) {
            // Of a move the first key is what is taken from.
            let keys = command.keys();
            let moves = command.name.contains("MOVE") || command.name.contains("PUSH");
            let sources = if moves {
                &keys[..keys.len().min(1)]
            } else {
                &keys[..]
            };
            for (name, queue) in queues {
                if sources
                    .iter()
                    .any(|key| key.as_ref() == queue.key().as_bytes())
                {
                    let own = consumers.entry(role.clone()).or_default();
                    own.insert(format!("{dependency}/{name}"));
                }
            }
        }
    }
    consumers
}

/// Whether a command of Redis takes elements from a queue.
fn takes(command: &str) -> bool {
    matches!(
        command,
        "LPOP"
            | "RPOP"
            | "BLPOP"
            | "BRPOP"
            | "LMPOP"
            | "BLMPOP"
            | "LMOVE"
            | "BLMOVE"
            | "RPOPLPUSH"
            | "BRPOPLPUSH"
            | "XREADGROUP"
            | "ZPOPMIN"
            | "BZPOPMIN"
    )
}

/// Timers that look for work in a database, each as an element of `background`.
pub(super) fn polls(manifest: &Manifest, runs: &[Seen]) -> Vec<String> {
    let mut polls = Vec::new();
    let of_redis = of_redis(manifest, runs);
    let receiving = |role: &RoleName| {
        let takes = of_redis.contains_key(role)
            || manifest
                .processes
                .get(role)
                .is_some_and(|process| !process.consumes.is_empty());
        let mut calls = runs.iter().flat_map(|run| &run.calls);
        takes || calls.any(|passed| {
            Seen::role(passed) == Some(role)
                && matches!(&passed.shape.asked, Asked::Action { action, .. } if action == "ReceiveMessage")
        })
    };
    // Of a consumer its receives tell.
    for role in manifest.processes.keys().filter(|role| !receiving(role)) {
        let Some((dependency, statement)) = polled(role, runs) else {
            continue;
        };
        let all = all_statements(runs, &dependency);
        let others = names::others(statement, all);
        let name =
            names::statement(statement, &others).or_else(|| names::statement(statement, &[]));
        if let Some(name) = name {
            polls.push(format!(
                "{{ process: {role}, dependency: {dependency}, statement: {} }}",
                names::yaml(&name)
            ));
        }
    }
    polls
}

/// The read that a process makes again and again in each run, whoever's message there is.
fn polled<'s>(role: &RoleName, runs: &'s [Seen]) -> Option<(DependencyName, &'s Statement)> {
    let mut counts: BTreeMap<(&DependencyName, &str), (usize, &Statement)> = BTreeMap::new();
    let mut least = usize::MAX;
    for run in runs {
        counts.clear();
        for passed in run.calls.iter().filter(|one| Seen::role(one) == Some(role)) {
            let Request::Postgres(request) = &passed.call.request else {
                continue;
            };
            let anonymous = run.messages(passed).is_empty() && !passed.durable;
            for statement in request.statements.iter().filter(|_| anonymous) {
                let text = statement.sql.written();
                let reads = text.trim_start().get(..6);
                if reads.is_some_and(|verb| verb.eq_ignore_ascii_case("select")) {
                    let key = (&passed.call.dependency, text);
                    counts.entry(key).or_insert((0, statement)).0 += 1;
                }
            }
        }
        least = least.min(counts.values().map(|(count, _)| *count).max().unwrap_or(0));
    }
    if least < LEAST {
        return None;
    }
    let most = counts.into_iter().max_by_key(|(_, (count, _))| *count);
    most.map(|((dependency, _), (_, statement))| (dependency.clone(), statement))
}
