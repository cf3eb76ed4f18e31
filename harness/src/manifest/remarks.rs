//! What is no mistake and yet probably not meant: settings and dependencies that nothing
//! uses, queues that nobody consumes.

use super::context::Context;
use super::source::Span;
use super::table::Table;
use super::{Dependency, Process, Protocol};
use crate::ids::{DependencyName, RoleName};
use indexmap::IndexMap;

/// What is remarked, and the settings that nothing uses.
pub(super) fn remarks<'n>(
    cx: &Context<'n>,
    table: &Table<'n>,
    dependencies: &IndexMap<DependencyName, Dependency>,
    processes: &IndexMap<RoleName, Process>,
    path: &str,
) -> (Vec<String>, Vec<String>) {
    let mut remarks = Vec::new();
    let mut unused_settings = Vec::new();
    let mut remark = |span: Span, text: String| {
        let spot = cx.source.spot(span);
        remarks.push(format!("{path}:{}:{}: {text}", spot.line, spot.column));
    };
    for (name, span) in table.keys_of("settings") {
        if !cx.used.contains(&format!("setting.{name}")) {
            remark(
                span,
                format!(
                    "nothing uses the setting `{name}`: put `${{setting.{name}}}` where it is to be, or remove it"
                ),
            );
            unused_settings.push(name.to_owned());
        }
    }
    for (name, span) in table.keys_of("dependencies") {
        let beginning = format!("{name}.");
        let used = cx.used.iter().any(|used| used.starts_with(&beginning));
        if !used {
            remark(
                span,
                format!(
                    "no process is given the address of `{name}`, so nothing of it is seen: put `${{{name}.url}}` into an environment, or remove it"
                ),
            );
        }
    }
    for (dependency, span) in table.keys_of("dependencies") {
        for queue in idle_queues(dependency, dependencies, processes) {
            remark(
                span,
                format!(
                    "no process `consumes` `{dependency}/{queue}`: name the process that receives from it"
                ),
            );
        }
    }
    (remarks, unused_settings)
}

/// The queues that nobody consumes and nothing is sent to by the redrive policy of another.
fn idle_queues<'d>(
    dependency: &'d str,
    dependencies: &'d IndexMap<DependencyName, Dependency>,
    processes: &'d IndexMap<RoleName, Process>,
) -> impl Iterator<Item = &'d String> {
    let found = dependencies.get(&DependencyName::new(dependency));
    let queues = found.and_then(|found| match &found.protocol {
        Protocol::Sqs { queues } => Some(queues),
        _ => None,
    });
    let consumed = move |queue: &&String| {
        let consumes = processes.values().flat_map(|process| &process.consumes);
        let mut consumes = consumes.filter(|(name, _)| name.as_str() == dependency);
        consumes.any(|(_, consumed)| consumed == *queue)
    };
    let dead = move |queue: &&String| {
        queues.is_some_and(|queues| {
            let policies = queues
                .values()
                .filter_map(|queue| queue.dead_letter.as_ref());
            policies.into_iter().any(|policy| policy.queue == **queue)
        })
    };
    let all = queues.into_iter().flat_map(IndexMap::keys);
    all.filter(move |queue| !consumed(queue) && !dead(queue))
}
