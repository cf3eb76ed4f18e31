//! Armed faults: when they trigger, and what was seen of their effect.

use std::sync::Arc;

use nix::sys::signal::Signal;

use super::state::Armed;
use super::{Board, Life};
use crate::fault::{Effect, Fault};
use crate::history::Event;
use crate::ids::{FaultId, MessageName, StageName};
use crate::tap::Call;

impl Board {
    pub(in crate::rehearsal) fn arm(&self, fault: Fault) -> FaultId {
        let mut state = self.state();
        let id = FaultId(state.faults.len() as u64 + 1);
        let (text, expected) = (fault.to_string(), fault.times.expected());
        state.faults.push(Armed {
            id,
            fault,
            passages: 0,
            landed: 0,
            disarmed: false,
        });
        drop(state);
        self.0.history.append(Event::Armed {
            fault: id,
            text,
            expected,
        });
        id
    }

    pub(in crate::rehearsal) fn disarm_all(&self) {
        let ids: Vec<FaultId> = self
            .state()
            .faults
            .iter_mut()
            .filter(|armed| !armed.disarmed)
            .map(|armed| {
                armed.disarmed = true;
                armed.id
            })
            .collect();
        for fault in ids {
            self.0.history.append(Event::Disarmed { fault });
        }
    }

    pub(super) fn trigger(
        &self,
        call: &Call,
        stage: &StageName,
        message: Option<&MessageName>,
    ) -> Vec<(FaultId, Effect)> {
        let mut triggered = Vec::new();
        let mut doubts = Vec::new();
        {
            let mut state = self.state();
            let in_hand = state.in_hand(&call.author);
            for armed in &mut state.faults {
                if armed.disarmed || armed.fault.stage != *stage {
                    continue;
                }
                match (&armed.fault.message, message) {
                    (Some(wanted), Some(seen)) if wanted != seen => continue,
                    (Some(wanted), None) => {
                        // What its author has in hand may rule the wanted message out.
                        if in_hand.is_empty() || in_hand.contains(wanted) {
                            doubts.push(format!(
                                "{stage} passed at {} and it cannot be told whether it was {wanted}'s, \
                                 which `{}` waits for; say under `messages.recognise.{}` where the id stands",
                                call.id, armed.fault, call.dependency
                            ));
                        }
                        continue;
                    }
                    _ => {}
                }
                armed.passages += 1;
                if armed.fault.times.includes(armed.passages) {
                    triggered.push((armed.id, armed.fault.effect.clone()));
                }
            }
        }
        for reason in doubts {
            self.0.history.append(Event::Doubt { reason });
        }
        for (fault, _) in &triggered {
            self.0.history.append(Event::Triggered {
                fault: *fault,
                call: Some(call.id),
                message: message.cloned(),
            });
        }
        triggered
    }

    /// Carries the effects of triggered faults out. True: the call or its reply must
    /// be dropped.
    pub(super) async fn carry_out(&self, call: &Call, effects: Vec<(FaultId, Effect)>) -> bool {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return false;
        };
        let mut drop_it = false;
        for (fault, effect) in effects {
            match effect {
                Effect::Signal(signal) => {
                    let actor = Arc::clone(self.0.actor.get().expect("set before any process"));
                    let sending = actor.signal(incarnation.clone(), signal, Some(fault));
                    let board = self.clone();
                    // A task of its own: the dying client's end of connection makes the
                    // tap drop the held future, and the kill must go on.
                    let sent = tokio::spawn(async move {
                        match sending.await {
                            Ok(evidence) => board.land(fault, evidence),
                            Err(reason) => {
                                board.0.history.append(Event::Missed { fault, reason });
                            }
                        }
                    });
                    let _ = sent.await;
                    match signal {
                        Signal::SIGKILL => drop_it = true,
                        Signal::SIGSTOP => {
                            self.until(|| {
                                let life = self.state().living.get(&incarnation).copied();
                                (life != Some(Life::Stopped)).then_some(())
                            })
                            .await;
                        }
                        _ => {}
                    }
                }
            }
        }
        drop_it
    }

    pub(super) fn land(&self, fault: FaultId, evidence: String) {
        if let Some(armed) = self
            .state()
            .faults
            .iter_mut()
            .find(|armed| armed.id == fault)
        {
            armed.landed += 1;
        }
        self.0.history.append(Event::Landed { fault, evidence });
    }
}
