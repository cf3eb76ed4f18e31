//! Who consumes which queue: as the manifest says, and as is witnessed.

use std::collections::BTreeSet;

use super::Board;
use super::state::State;
use crate::ids::{DependencyName, RoleName};
use crate::manifest::{Binding, Pattern, Protocol, Queue};

/// A queue of the manifest.
pub(super) type QueueOf = (DependencyName, String);

impl Board {
    /// A role asks a queue for messages.
    pub(super) fn note_taker(
        &self,
        state: &mut State,
        role: &RoleName,
        dependency: &DependencyName,
        served: &str,
    ) {
        let mut queues = self.0.queues.iter();
        let of_manifest = queues.find(|((of, _), name)| of == dependency && *name == served);
        if let Some(((_, queue), _)) = of_manifest {
            let taker = (role.clone(), dependency.clone(), queue.clone());
            state.takers.insert(taker);
        }
    }

    /// The queues that a role consumes, and whether the manifest says so. What a timer of
    /// `background` asks is none of them.
    pub(super) fn consumed(&self, state: &State, role: &RoleName) -> Vec<(QueueOf, bool)> {
        let process = self.0.manifest.processes.get(role);
        let said = process.map(|process| process.consumes.as_slice());
        let said = said.unwrap_or_default();
        let mut all: Vec<(QueueOf, bool)> = said.iter().map(|one| (one.clone(), true)).collect();
        for (_, dependency, queue) in state.takers.iter().filter(|(of, ..)| of == role) {
            let one = (dependency.clone(), queue.clone());
            if !said.contains(&one) && !self.is_asked_by_a_timer(role, dependency) {
                all.push((one, false));
            }
        }
        all
    }

    fn is_asked_by_a_timer(&self, role: &RoleName, dependency: &DependencyName) -> bool {
        let mut timers = self.0.manifest.background.iter();
        timers.any(|timer| {
            let tick = timer.tick.as_ref();
            timer.role == *role
                && tick
                    .is_some_and(|tick| tick.dependency == *dependency && tick.pattern.is_receive())
        })
    }

    /// Queues from which nobody takes messages as far as the manifest says and as was
    /// witnessed, and from which somebody should.
    pub(in crate::rehearsal) fn without_consumer(&self) -> Vec<QueueOf> {
        let state = self.state();
        let manifest = &self.0.manifest;
        let roles: BTreeSet<&RoleName> = manifest.processes.keys().collect();
        let consumed: BTreeSet<QueueOf> = roles
            .into_iter()
            .flat_map(|role| self.consumed(&state, role))
            .map(|(queue, _)| queue)
            .chain(
                state
                    .takers
                    .iter()
                    .map(|(_, of, queue)| (of.clone(), queue.clone())),
            )
            .collect();
        let mut without = Vec::new();
        for (name, dependency) in &manifest.dependencies {
            let Protocol::Sqs { queues } = &dependency.protocol else {
                continue;
            };
            for (queue, declared) in queues {
                let takes_dead = |other: &Queue| {
                    let policy = other.dead_letter.as_ref();
                    policy.is_some_and(|policy| policy.queue == *queue)
                };
                let at = (name.clone(), queue.clone());
                if !declared.unconsumed
                    && !queues.values().any(takes_dead)
                    && !consumed.contains(&at)
                {
                    without.push(at);
                }
            }
        }
        without
    }

    /// What was taken from what was witnessed because the manifest does not say it, in
    /// words; what contradicts it is a doubt.
    pub(in crate::rehearsal) fn note_consumers(&self) -> Vec<String> {
        let mut inferred = Vec::new();
        let mut doubts = Vec::new();
        {
            let state = self.state();
            for (role, process) in &self.0.manifest.processes {
                let all = self.consumed(&state, role);
                let named = |said: bool| -> Vec<String> {
                    let of = all.iter().filter(|(_, is_said)| *is_said == said);
                    of.map(|((dependency, queue), _)| format!("`{dependency}/{queue}`"))
                        .collect()
                };
                let seen = named(false);
                if seen.is_empty() {
                    continue;
                }
                // Only of queues that speak SQS it is noted here who asks them.
                let asks = |(dependency, queue): &QueueOf| {
                    let taker = (role.clone(), dependency.clone(), queue.clone());
                    let of = self.0.manifest.dependencies.get(dependency);
                    let is_noted = of.is_some_and(|of| matches!(of.protocol, Protocol::Sqs { .. }));
                    !is_noted || state.takers.contains(&taker)
                };
                let said = named(true).join(" and ");
                let seen = seen.join(" and ");
                if process.consumes.is_empty() {
                    inferred.push(format!(
                        "the {role} asks {seen} for messages and has no `consumes`: it was taken for a consumer"
                    ));
                } else if process.consumes.iter().any(asks) {
                    inferred.push(format!(
                        "the {role} asks {seen} for messages too, and `consumes` says {said}: it was taken for a consumer of both"
                    ));
                } else {
                    doubts.push(format!(
                        "`consumes` of the {role} says {said}, and it asked only {seen} for messages: say there what it consumes"
                    ));
                }
            }
        }
        doubts.extend(self.taken_though_unconsumed());
        for doubt in doubts {
            self.doubt_once(&doubt);
        }
        inferred.extend(self.inferred_binds());
        inferred.extend(self.state().uncertain.iter().cloned());
        inferred
    }

    /// Queues of which the manifest says that nobody takes messages from them, and somebody
    /// asks them all the same.
    fn taken_though_unconsumed(&self) -> Vec<String> {
        let state = self.state();
        let takers = state.takers.iter().filter(|(role, dependency, queue)| {
            let of = self.0.manifest.dependencies.get(dependency);
            let declared = of.and_then(|of| match &of.protocol {
                Protocol::Sqs { queues } => queues.get(queue),
                _ => None,
            });
            declared.is_some_and(|declared| declared.unconsumed)
                && !self.is_asked_by_a_timer(role, dependency)
        });
        takers
            .map(|(role, dependency, queue)| {
                format!(
                    "`{dependency}/{queue}` is said to be consumed by nobody (`consumed: false`), and the {role} asks it for messages"
                )
            })
            .collect()
    }

    /// Databases where ids were recognised although nothing says where they stand.
    fn inferred_binds(&self) -> Vec<String> {
        let manifest = &self.0.manifest;
        let ends = manifest.terminal.values().map(|end| &end.stage);
        let bound: BTreeSet<&DependencyName> = ends
            .filter_map(|stage| match &manifest.stages.get(stage)?.binding {
                Binding::Boundary {
                    dependency,
                    pattern: Pattern::Statement(_) | Pattern::Transaction(_),
                    ..
                } => Some(dependency),
                _ => None,
            })
            .collect();
        bound
            .into_iter()
            .filter(|database| !manifest.messages.recognise.contains_key(*database))
            .map(|database| {
                format!(
                    "`messages.recognise` says nothing of `{database}`: every bind value that is a known id counted as one (`{database}: any-bind`)"
                )
            })
            .collect()
    }
}
