//! What the board has done to processes: signals, and the end of what they had in hand.

use futures::future::BoxFuture;
use nix::sys::signal::Signal;

use super::super::board::{Actor, Life};
use super::super::deliveries::Delivery;
use super::Processes;
use crate::deployment::State;
use crate::history::DeathCause;
use crate::ids::{FaultId, Incarnation};

impl Actor for Processes {
    fn signal(
        &self,
        incarnation: Incarnation,
        signal: Signal,
        fault: Option<FaultId>,
    ) -> BoxFuture<'static, Result<String, String>> {
        let processes = self.clone();
        Box::pin(async move {
            let Some(current) = processes.current(&incarnation).await else {
                return Err(format!("{incarnation} was gone already"));
            };
            if signal == Signal::SIGKILL {
                // No byte may pass between the decision and the signal.
                processes.0.board.set_life(&incarnation, Life::Ending);
                current.gate.close().await;
            }
            processes.note_signal(&incarnation, signal, fault);
            let pid = current.child.pid();
            match signal {
                Signal::SIGKILL => processes.end(&current, signal, DeathCause::Ordered).await,
                Signal::SIGSTOP => {
                    processes.0.board.set_life(&incarnation, Life::Stopped);
                    current
                        .child
                        .signal(signal)
                        .map_err(|error| error.to_string())?;
                    if current.child.stopped().await {
                        Ok(format!("{incarnation} (pid {pid}) is stopped"))
                    } else {
                        Err(format!(
                            "{incarnation} (pid {pid}) ended instead of stopping"
                        ))
                    }
                }
                Signal::SIGCONT => {
                    current
                        .child
                        .signal(signal)
                        .map_err(|error| error.to_string())?;
                    if current.child.running().await {
                        processes.0.board.set_life(&incarnation, Life::Running);
                        Ok(format!("{incarnation} (pid {pid}) goes on"))
                    } else {
                        Err(format!(
                            "{incarnation} (pid {pid}) ended instead of going on"
                        ))
                    }
                }
                _ => {
                    current.signal_for(signal, DeathCause::Ordered)?;
                    Ok(match current.child.state() {
                        State::Exited(outcome) => format!("{incarnation} (pid {pid}) {outcome}"),
                        State::Running | State::Stopped => {
                            format!("{signal} was delivered to {incarnation} (pid {pid})")
                        }
                    })
                }
            }
        })
    }

    fn expire(&self, orphans: Vec<Delivery>) -> BoxFuture<'static, ()> {
        let processes = self.clone();
        Box::pin(async move { processes.expire_all(orphans).await })
    }
}
