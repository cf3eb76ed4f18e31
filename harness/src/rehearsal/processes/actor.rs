//! What the board has done to processes: signals, and the end of what they had in hand.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use nix::sys::signal::Signal;

use super::super::board::{Actor, Life};
use super::super::deliveries::Delivery;
use super::Processes;
use crate::deployment::State;
use crate::history::DeathCause;
use crate::ids::{FaultId, Incarnation};
use crate::tap::{Call, Request};

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

    fn make_again(&self, call: Arc<Call>, later: Duration) -> BoxFuture<'static, ()> {
        let address = self.0.dependencies.address(&call.dependency);
        Box::pin(async move {
            let Request::Http(request) = &call.request else {
                return;
            };
            tokio::time::sleep(later).await;
            let query = request.query.as_ref();
            let query = query.map_or(String::new(), |query| format!("?{query}"));
            let url = format!("http://{address}{}{query}", request.path);
            let client = reqwest::Client::builder().no_proxy().build();
            let (Ok(client), Ok(method)) = (client, request.method.parse()) else {
                return;
            };
            let mut again = client.request(method, url);
            for (name, value) in &request.headers {
                // Those are of the connection, not of the request.
                if !["host", "content-length", "connection", "transfer-encoding"]
                    .contains(&name.as_str())
                {
                    again = again.header(name, value);
                }
            }
            // Whoever is gone by then hears nothing: the deployment is over.
            let _ = again.body(request.body.clone()).send().await;
        })
    }

    fn expire(&self, orphans: Vec<Delivery>) -> BoxFuture<'static, ()> {
        let processes = self.clone();
        Box::pin(async move { processes.expire_all(orphans).await })
    }
}
