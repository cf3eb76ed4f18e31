//! What still goes on, by what the board knows itself.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::deliveries::Delivery;
use super::super::quiet::{LONG_REST, REST};
use super::super::unrest::Reason;
use super::state::{Receive, State};
use super::{Board, Life};
use crate::fault::Times;
use crate::history::Event;
use crate::ids::{Author, DependencyName, Incarnation, RoleName};
use crate::manifest::Protocol;

impl Board {
    /// What still goes on, by what the board knows itself: the queues' own counts are
    /// for the caller.
    pub(in crate::rehearsal) fn busy(&self, starting: &[String]) -> Vec<Reason> {
        self.busy_while(starting, false)
    }

    /// The same while consumers rest: they need not ask for more.
    pub(in crate::rehearsal) fn busy_at_rest(&self, starting: &[String]) -> Vec<Reason> {
        self.busy_while(starting, true)
    }

    fn busy_while(&self, starting: &[String], rests: bool) -> Vec<Reason> {
        let state = self.state();
        let mut reasons: Vec<Reason> = Vec::new();
        reasons.extend(starting.iter().map(|process| Reason::Starting {
            process: process.clone(),
        }));
        reasons.extend(state.submitting.iter().map(|message| Reason::Submitting {
            message: message.clone(),
        }));
        let held = state.held.iter();
        let held = held.filter(|(call, _)| !state.is_of_left_standing(**call));
        reasons.extend(held.map(|(_, what)| Reason::Held { what: what.clone() }));
        let outages = self.0.outages.passing().into_iter();
        reasons.extend(outages.map(|outage| Reason::Outage { outage }));
        let pending = state.faults.iter().filter(|armed| armed.is_pending());
        reasons.extend(pending.map(|armed| Reason::Armed {
            fault: armed.fault.to_string(),
            landed: armed.landed,
        }));
        for delivery in state.deliveries.held() {
            if state.living.contains_key(&delivery.owner) {
                let message = delivery
                    .message
                    .as_ref()
                    .map_or_else(|| delivery.message_id.clone(), ToString::to_string);
                reasons.push(Reason::InHand {
                    owner: delivery.owner.clone(),
                    message,
                    receipt: delivery.receipt.clone(),
                });
            }
        }
        if !rests {
            self.unasked(&state, &mut reasons);
        }
        let writing = state.writing.values();
        let writing = writing.filter(|author| !state.is_left_standing(author));
        reasons.extend(writing.map(|author| Reason::Writing {
            author: author.clone(),
        }));
        self.unticked(&state, &mut reasons);
        reasons
    }

    /// The deliveries that hide what a reason is about.
    pub(in crate::rehearsal) fn hidden(&self, reason: &Reason) -> Vec<Delivery> {
        let state = self.state();
        match reason {
            Reason::InHand { receipt, .. } => {
                state.deliveries.get(receipt).cloned().into_iter().collect()
            }
            Reason::Queue {
                dependency, queue, ..
            } => {
                let at = (dependency.clone(), queue.clone());
                let served = self.0.queues.get(&at).unwrap_or(queue);
                let mut hidden = state.deliveries.touched();
                hidden.retain(|one| one.dependency == *dependency && one.queue == *served);
                hidden
            }
            _ => Vec::new(),
        }
    }

    /// Consumers that did not ask for more since their last effect.
    fn unasked(&self, state: &State, reasons: &mut Vec<Reason>) {
        let living = state.living.keys();
        for incarnation in living.filter(|one| !state.left_standing.contains(*one)) {
            let consumes = self.consumed(state, &incarnation.role);
            let own = Author::Process(incarnation.clone());
            let effect = state.effects.of(&own);
            for ((dependency, queue), said) in &consumes {
                let latest = self.latest_receive(state, incarnation, dependency, queue);
                // Who waits for a notice does not look again by itself.
                if self.is_table(dependency) && Self::rests(state, incarnation, REST) {
                    continue;
                }
                // What nobody says need not be asked again and again.
                if !said && Self::rests(state, incarnation, LONG_REST) {
                    continue;
                }
                if latest.is_none_or(|receive| !receive.empty_handed || receive.began <= effect) {
                    reasons.push(Reason::NotAsked {
                        consumer: incarnation.clone(),
                        queue: (consumes.len() > 1).then(|| queue.clone()),
                        effect,
                        ever: latest.is_some(),
                    });
                }
            }
        }
    }

    /// Whether the queues of a dependency are tables.
    fn is_table(&self, dependency: &DependencyName) -> bool {
        let known = self.0.manifest.dependencies.get(dependency);
        known.is_some_and(|known| matches!(known.protocol, Protocol::Postgres { .. }))
    }

    /// Queues on which a receive waits that began before the last effect of its consumer,
    /// with where that stands: only the end of its time makes that consumer ask anew.
    pub(in crate::rehearsal) fn stale_polls(&self) -> BTreeSet<(DependencyName, String, u64)> {
        let state = self.state();
        let mut polls = BTreeSet::new();
        for incarnation in state.living.keys() {
            let process = self.0.manifest.processes.get(&incarnation.role);
            let effect = state.effects.of(&Author::Process(incarnation.clone()));
            for (dependency, queue) in process.into_iter().flat_map(|process| &process.consumes) {
                let latest = self.latest_receive(&state, incarnation, dependency, queue);
                let waits = latest.is_some_and(|receive| {
                    receive.began <= effect && state.open.contains_key(&receive.call)
                });
                if waits {
                    polls.insert((dependency.clone(), queue.clone(), effect));
                }
            }
        }
        polls
    }

    /// A consumer's latest receive at a queue of the manifest.
    fn latest_receive(
        &self,
        state: &State,
        by: &Incarnation,
        dependency: &DependencyName,
        queue: &str,
    ) -> Option<Receive> {
        let at = (dependency.clone(), queue.to_owned());
        let served = self.0.queues.get(&at).cloned().unwrap_or(at.1);
        state.receives.get(&(by.clone(), at.0, served)).copied()
    }

    /// Timers that did not tick once since the last effect of anybody.
    fn unticked(&self, state: &State, reasons: &mut Vec<Reason>) {
        let last = state.effects.last();
        for (index, background) in self.0.manifest.background.iter().enumerate() {
            let Some(call) = &background.tick else {
                continue;
            };
            let living = state.living.keys();
            let living = living.filter(|one| !state.left_standing.contains(*one));
            for incarnation in living.filter(|one| one.role == background.role) {
                let tick = state.ticks.get(&(index, incarnation.clone()));
                let over = tick.and_then(|tick| tick.over);
                if over.is_none_or(|over| over < last) {
                    reasons.push(Reason::NotTicked {
                        timer: index,
                        incarnation: incarnation.clone(),
                        call: call.pattern.describe(),
                        ever: state
                            .ticks
                            .keys()
                            .any(|(timer, of)| *timer == index && of.role == background.role),
                    });
                }
            }
        }
    }

    /// Whether a process has come to rest: it has no call and no transaction open but a
    /// receive that waits, and it has done nothing but receive for so long.
    pub(in crate::rehearsal) fn is_at_rest(
        &self,
        incarnation: &Incarnation,
        so_long: Duration,
    ) -> bool {
        Self::rests(&self.state(), incarnation, so_long)
    }

    fn rests(state: &State, incarnation: &Incarnation, so_long: Duration) -> bool {
        let author = Author::Process(incarnation.clone());
        let receives = |call| state.receives.values().any(|receive| receive.call == call);
        let mut open = state.open.iter();
        let works = open.any(|(call, (_, by))| *by == author && !receives(*call));
        let transaction = state.transactions.values().any(|by| *by == author);
        let last = state.last_calls.get(&author);
        !works && !transaction && last.is_none_or(|last| last.elapsed() >= so_long)
    }

    /// Whether a timer has looked since the last effect of anybody, was answered, and does
    /// nothing now: it found nothing, if nothing waits for it.
    pub(in crate::rehearsal) fn has_looked(&self, timer: usize, incarnation: &Incarnation) -> bool {
        let state = self.state();
        let author = Author::Process(incarnation.clone());
        let tick = state.ticks.get(&(timer, incarnation.clone()));
        let looked = tick.is_some_and(|tick| {
            tick.began > state.effects.last() && !state.open.contains_key(&tick.call)
        });
        let receives = |call| state.receives.values().any(|receive| receive.call == call);
        let mut open = state.open.iter();
        let works = open.any(|(call, (_, by))| *by == author && !receives(*call));
        looked && !works && !state.transactions.values().any(|by| *by == author)
    }

    /// Whether a process of a role is held at a stage, or stopped.
    pub(in crate::rehearsal) fn is_held(&self, role: &RoleName) -> bool {
        let state = self.state();
        let mut holds = state.holds.values();
        let mut living = state.living.iter();
        holds.any(|author| author.incarnation().is_some_and(|by| by.role == *role))
            || living.any(|(by, life)| by.role == *role && *life == Life::Stopped)
    }

    /// Whether the scenario keeps a role from its work for good: something that it talks
    /// to is ill until a step says otherwise.
    pub(in crate::rehearsal) fn is_kept_from_work(&self, role: &RoleName) -> bool {
        let ill = self.0.outages.lasting_for(role);
        !ill.is_empty()
            && self.0.history.read(|entries| {
                entries.iter().any(|entry| match &entry.event {
                    Event::Connected {
                        author, dependency, ..
                    } => {
                        ill.contains(dependency)
                            && author.incarnation().is_some_and(|by| by.role == *role)
                    }
                    _ => false,
                })
            })
    }

    /// Holds and stops that the scenario ordered and that are not over, and faults that
    /// land again and again.
    pub(in crate::rehearsal) fn standing(&self) -> Vec<String> {
        let state = self.state();
        let held = state.holds.values();
        let held = held.map(|author| format!("{author} is held at a stage"));
        let stopped = state
            .living
            .iter()
            .filter(|(_, life)| **life == Life::Stopped);
        let stopped = stopped.map(|(incarnation, _)| format!("{incarnation} is stopped"));
        let again = state.faults.iter().filter(|armed| {
            !armed.disarmed && armed.landed > 0 && armed.fault.times == Times::Every
        });
        let again = again.map(|armed| format!("{}, {} so far", armed.fault, armed.landed));
        held.chain(stopped).chain(again).collect()
    }

    /// Where the last effect of anybody stands.
    pub(in crate::rehearsal) fn last_effect(&self) -> u64 {
        self.state().effects.last()
    }

    /// Whether anybody alive consumes this queue of the manifest.
    pub(in crate::rehearsal) fn has_consumer(
        &self,
        dependency: &DependencyName,
        queue: &str,
    ) -> bool {
        let state = self.state();
        state.living.iter().any(|(incarnation, life)| {
            *life == Life::Running
                && self
                    .consumed(&state, &incarnation.role)
                    .iter()
                    .any(|((of, name), _)| of == dependency && name == queue)
        })
    }
}
