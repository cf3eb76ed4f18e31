//! Incarnations from their registration to the end of their last connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::ExpectedDeath;
use super::super::deliveries::Delivery;
use super::unclear::About;
use super::{Board, Life};
use crate::history::{DeathCause, Event};
use crate::ids::{Author, DependencyName, Incarnation, MessageName, RoleName};
use crate::tap::Gate;

impl Board {
    /// An incarnation is about to start: its calls count from now on.
    pub(in crate::rehearsal) fn register(&self, incarnation: &Incarnation, gate: &Arc<Gate>) {
        let mut state = self.state();
        state.living.insert(incarnation.clone(), Life::Running);
        state.gates.insert(incarnation.clone(), Arc::clone(gate));
    }

    /// Whether an incarnation was registered and did not end since.
    pub(in crate::rehearsal) fn is_registered(&self, incarnation: &Incarnation) -> bool {
        self.state().living.contains_key(incarnation)
    }

    /// It could not be started after all.
    pub(in crate::rehearsal) fn unregister(&self, incarnation: &Incarnation) {
        self.state().forget(incarnation);
    }

    pub(in crate::rehearsal) fn ready(&self, incarnation: &Incarnation) {
        self.0.history.append(Event::Ready {
            incarnation: incarnation.clone(),
        });
    }

    /// Resolves once an incarnation made the call that shows it is ready.
    pub(in crate::rehearsal) async fn first_call(&self, incarnation: &Incarnation) {
        self.until(|| self.state().called.contains(incarnation).then_some(()))
            .await;
    }

    pub(in crate::rehearsal) fn started(&self, incarnation: &Incarnation, pid: i32) {
        self.0.history.append(Event::Started {
            incarnation: incarnation.clone(),
            pid,
        });
    }

    pub(in crate::rehearsal) fn set_life(&self, incarnation: &Incarnation, life: Life) {
        if let Some(current) = self.state().living.get_mut(incarnation) {
            *current = life;
        }
        self.0.history.nudge();
    }

    /// Whether it made any call yet.
    pub(in crate::rehearsal) fn has_called(&self, incarnation: &Incarnation) -> bool {
        self.0.history.tally(|tally| tally.has_called(incarnation))
    }

    /// From now on a process is expected to die by itself.
    pub(in crate::rehearsal) fn expect_death(&self, death: ExpectedDeath) {
        self.0.history.append(Event::DeathExpected {
            role: death.role.clone(),
            instance: death.instance,
        });
        self.state().mortal.push(death);
    }

    /// Whether the scenario expects this one to die by itself.
    pub(in crate::rehearsal) fn is_expected_to_die(&self, incarnation: &Incarnation) -> bool {
        let state = self.state();
        state.mortal.iter().any(|death| death.is_of(incarnation))
    }

    /// A process that is stopped never goes on: what it had in hand is nobody's, and is
    /// given back here.
    pub(in crate::rehearsal) fn leave_standing(&self, incarnation: &Incarnation) -> Vec<Delivery> {
        self.0.history.append(Event::LeftStanding {
            incarnation: incarnation.clone(),
        });
        let orphans = {
            let mut state = self.state();
            state.left_standing.insert(incarnation.clone());
            state.orphan(incarnation)
        };
        self.0.history.nudge();
        orphans
    }

    /// Whether all that run of a role never go on.
    pub(in crate::rehearsal) fn is_all_left_standing(&self, role: &RoleName) -> bool {
        let state = self.state();
        let mut of_role = state
            .living
            .keys()
            .filter(|one| one.role == *role)
            .peekable();
        of_role.peek().is_some() && of_role.all(|one| state.left_standing.contains(one))
    }

    /// Whether it never goes on.
    pub(in crate::rehearsal) fn is_left_standing(&self, incarnation: &Incarnation) -> bool {
        self.state().left_standing.contains(incarnation)
    }

    /// A process was reaped; says why as far as the board can tell.
    pub(in crate::rehearsal) fn exited(
        &self,
        incarnation: &Incarnation,
        code: Option<i32>,
        signal: Option<String>,
        wanted: Option<DeathCause>,
    ) -> DeathCause {
        let mut state = self.state();
        let (cause, in_hand, unnamed) = {
            state.forget(incarnation);
            let hand = state.deliveries.unsettled_of(incarnation);
            let unnamed: Vec<String> = hand
                .iter()
                .filter(|delivery| delivery.message.is_none())
                .map(|delivery| delivery.message_id.clone())
                .collect();
            let unsettled: BTreeSet<MessageName> = hand
                .into_iter()
                .filter_map(|delivery| delivery.message.clone())
                .collect();
            let announced = unsettled
                .iter()
                .any(|message| state.announced.get(message) == Some(&incarnation.role));
            let mut mortal = state.mortal.iter();
            let expected = mortal.any(|death| death.is_of(incarnation));
            let by_itself = if announced || expected {
                DeathCause::Announced
            } else {
                DeathCause::Unexpected
            };
            (wanted.unwrap_or(by_itself), unsettled, unnamed)
        };
        let entry = self.0.history.append(Event::Exited {
            incarnation: incarnation.clone(),
            code,
            signal,
            cause,
            in_hand: in_hand.into_iter().collect(),
        });
        for copy in unnamed {
            Self::keep_unnamed(&mut state, entry, &[copy], About::Entry);
        }
        cause
    }

    /// All connections of an ended incarnation have ended: what it held is nobody's.
    pub(in crate::rehearsal) fn drained(&self, incarnation: &Incarnation) -> Vec<Delivery> {
        self.0.history.append(Event::Drained {
            incarnation: incarnation.clone(),
        });
        let orphans = self.state().orphan(incarnation);
        self.0.history.nudge();
        orphans
    }

    /// Where the taps' own connections to a dependency came from.
    pub(in crate::rehearsal) fn tap_ports(&self, dependency: &DependencyName) -> BTreeSet<u16> {
        let state = self.state();
        state.tap_ports.get(dependency).cloned().unwrap_or_default()
    }

    pub(in crate::rehearsal) fn is_ending(&self, author: &Author) -> bool {
        let Some(incarnation) = author.incarnation() else {
            return false;
        };
        !matches!(
            self.state().living.get(incarnation),
            Some(Life::Running | Life::Stopped)
        )
    }
}
