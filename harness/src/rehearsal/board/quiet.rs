//! What still goes on, by what the board knows itself.

use super::{Board, Life};
use crate::fault::Times;
use crate::ids::{Author, DependencyName};

/// Why it is not quiet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rehearsal) struct Busy(pub(in crate::rehearsal) Vec<String>);

impl Board {
    /// What still goes on, by what the board knows itself: the queues' own counts are
    /// for the caller.
    pub(in crate::rehearsal) fn busy(&self, starting: &[String]) -> Result<(), Busy> {
        self.busy_while(starting, false)
    }

    /// The same while consumers rest: they need not ask for more.
    pub(in crate::rehearsal) fn busy_at_rest(&self, starting: &[String]) -> Result<(), Busy> {
        self.busy_while(starting, true)
    }

    fn busy_while(&self, starting: &[String], rests: bool) -> Result<(), Busy> {
        let state = self.state();
        let mut reasons: Vec<String> = Vec::new();
        reasons.extend(
            starting
                .iter()
                .map(|process| format!("{process} is starting")),
        );
        reasons.extend(
            state
                .submitting
                .iter()
                .map(|message| format!("{message} is being submitted")),
        );
        reasons.extend(state.held.values().map(|what| format!("held: {what}")));
        reasons.extend(self.0.outages.passing());
        reasons.extend(
            state
                .faults
                .iter()
                .filter(|armed| armed.is_pending())
                .map(|armed| format!("armed: {} (landed {} times)", armed.fault, armed.landed)),
        );
        for delivery in state.deliveries.held() {
            if state.living.contains_key(&delivery.owner) {
                let message = delivery
                    .message
                    .as_ref()
                    .map_or_else(|| delivery.message_id.clone(), ToString::to_string);
                reasons.push(format!("{} has {message} in hand", delivery.owner));
            }
        }
        for incarnation in state.living.keys() {
            let consumes = self
                .0
                .manifest
                .processes
                .get(&incarnation.role)
                .is_some_and(|process| process.consumes.is_some());
            if !consumes || rests {
                continue;
            }
            let own = Author::Process(incarnation.clone());
            let effect = state.effects.get(&own).copied().unwrap_or_default();
            let waiting = state
                .receives
                .get(incarnation)
                .is_some_and(|receive| receive.empty_handed && receive.began > effect);
            if !waiting {
                reasons.push(format!(
                    "{incarnation} has not asked for more since its last effect"
                ));
            }
        }
        reasons.extend(
            state
                .writing
                .values()
                .map(|author| format!("{author} has a transaction open in which it wrote")),
        );
        let last = state.effects.values().max().copied().unwrap_or_default();
        for (index, background) in self.0.manifest.background.iter().enumerate() {
            for incarnation in state
                .living
                .keys()
                .filter(|one| one.role == background.role)
            {
                let tick = state.ticks.get(&(index, incarnation.clone()));
                if tick
                    .and_then(|tick| tick.over)
                    .is_none_or(|over| over < last)
                {
                    reasons.push(format!(
                        "{incarnation} has not ticked once since the last effect"
                    ));
                }
            }
        }
        if reasons.is_empty() {
            Ok(())
        } else {
            Err(Busy(reasons))
        }
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
        let state = self.state();
        state.effects.values().max().copied().unwrap_or_default()
    }

    /// Whether anybody alive consumes this queue of the manifest.
    pub(in crate::rehearsal) fn has_consumer(
        &self,
        dependency: &DependencyName,
        queue: &str,
    ) -> bool {
        self.state().living.iter().any(|(incarnation, life)| {
            *life == Life::Running
                && self
                    .0
                    .manifest
                    .processes
                    .get(&incarnation.role)
                    .is_some_and(|process| {
                        process
                            .consumes
                            .as_ref()
                            .is_some_and(|(of, name)| of == dependency && name == queue)
                    })
        })
    }
}
