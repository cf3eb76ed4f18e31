//! Kills that were decided.
//!
//! The trigger of a kill and the closed gate are one step: no byte of its process passes
//! once the trigger stands in the history, on whichever connection. A process whose gate
//! is shut cannot go on, so the kill comes to pass whatever happens to whoever decided it.

use nix::sys::signal::Signal;

use super::faults::Triggered;
use super::state::State;
use super::{Board, Life};
use crate::fault::Effect;
use crate::ids::{FaultId, Incarnation};

/// A kill that was decided. It comes to pass also when whoever was to carry it out is
/// dropped before.
pub(super) struct Doom {
    board: Board,
    author: Incarnation,
    fault: Option<FaultId>,
}

impl Doom {
    /// The signal is about to be sent.
    pub(super) fn comes_to_pass(mut self) {
        self.fault = None;
    }
}

impl Drop for Doom {
    fn drop(&mut self) {
        // Without a runtime everything is over.
        if let Some(fault) = self.fault.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let strike = self
                .board
                .strike(&self.author, vec![fault], Signal::SIGKILL);
            runtime.spawn(strike);
        }
    }
}

impl Board {
    /// Shuts the gate of a process that is to be killed. Called before the trigger is
    /// recorded, while nobody else can decide anything.
    pub(super) fn doom(&self, now: &mut State, author: &Incarnation, triggered: &mut [Triggered]) {
        for one in triggered {
            if !matches!(one.effect, Effect::Signal(Signal::SIGKILL)) {
                continue;
            }
            if let Some(life) = now.living.get_mut(author) {
                *life = Life::Ending;
            }
            if let Some(gate) = now.gates.get(author) {
                gate.shut();
            }
            one.doom = Some(Doom {
                board: self.clone(),
                author: author.clone(),
                fault: Some(one.fault),
            });
        }
    }

    /// Sends a signal and notes what was seen of it.
    pub(super) fn strike(
        &self,
        incarnation: &Incarnation,
        faults: Vec<FaultId>,
        signal: Signal,
    ) -> impl Future<Output = ()> + Send + use<> {
        let sending = self
            .actor()
            .map(|actor| actor.signal(incarnation.clone(), signal, faults.first().copied()));
        let board = self.clone();
        async move {
            // Without an actor the rehearsal is over.
            let Some(sending) = sending else { return };
            let seen = sending.await;
            for fault in faults {
                match seen.clone() {
                    Ok(evidence) => board.land(fault, evidence),
                    Err(reason) => board.miss(fault, reason),
                }
            }
        }
    }
}
