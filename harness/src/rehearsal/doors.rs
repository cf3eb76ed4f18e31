//! Addresses at which processes are reached that serve others. They stay the same through all
//! incarnations of the process behind them. No tap stands there: where the process is a
//! dependency, taps lead to its door.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::processes::Processes;
use crate::ids::RoleName;
use crate::manifest::{Backlog, Command, Manifest, Provide};

/// The doors of one rehearsal, before anybody stands behind them.
pub(super) struct Doors(Vec<(RoleName, TcpListener)>);

/// Doors that are open; they close when this is dropped.
pub(super) struct Open(#[expect(dead_code, reason = "held for its drop")] JoinSet<()>);

impl Doors {
    /// One for each process whose address the manifest gives to somebody.
    pub(super) async fn build(manifest: &Manifest, near_side: IpAddr) -> io::Result<Self> {
        let mut doors = Vec::new();
        for role in addressed(manifest) {
            doors.push((role, TcpListener::bind((near_side, 0)).await?));
        }
        Ok(Self(doors))
    }

    /// The values of `${process.….address}` and its parts.
    pub(super) fn values(&self) -> io::Result<Vec<(String, String)>> {
        let mut values = Vec::new();
        for (role, listener) in &self.0 {
            let at = listener.local_addr()?;
            let parts = [
                ("address", at.to_string()),
                ("host", at.ip().to_string()),
                ("port", at.port().to_string()),
            ];
            values.extend(parts.map(|(part, value)| (format!("process.{role}.{part}"), value)));
        }
        Ok(values)
    }

    /// Lets callers through to the process that is there, from its first readiness on:
    /// who comes earlier waits, who comes while it is down is turned away.
    pub(super) fn open(self, processes: &Processes) -> Open {
        let mut doors = JoinSet::new();
        for (role, listener) in self.0 {
            let processes = processes.clone();
            doors.spawn(async move {
                let mut callers = JoinSet::new();
                loop {
                    tokio::select! {
                        accepted = listener.accept() => {
                            let Ok((caller, _)) = accepted else { continue };
                            let (processes, role) = (processes.clone(), role.clone());
                            callers.spawn(async move {
                                let behind = processes.behind(&role).await;
                                pass(caller, behind).await;
                            });
                        }
                        Some(_) = callers.join_next() => {}
                    }
                }
            });
        }
        Open(doors)
    }
}

async fn pass(mut caller: TcpStream, behind: Option<SocketAddr>) {
    let Some(behind) = behind else {
        // A reset is what a process that is down answers.
        let _ = caller.set_zero_linger();
        return;
    };
    let Ok(mut process) = TcpStream::connect(behind).await else {
        let _ = caller.set_zero_linger();
        return;
    };
    let _ = caller.set_nodelay(true);
    let _ = process.set_nodelay(true);
    // Either side's end is the other's.
    let _ = copy_bidirectional(&mut caller, &mut process).await;
}

/// The processes that some command or environment names by `${process.….}`, and those that
/// are dependencies.
fn addressed(manifest: &Manifest) -> BTreeSet<RoleName> {
    let processes = manifest.processes.values().map(|process| &process.command);
    let operator = manifest.operator.values().map(|operator| &operator.command);
    let backlogs = manifest
        .background
        .iter()
        .filter_map(|background| match &background.backlog {
            Some(Backlog::Command(command)) => Some(command),
            _ => None,
        });
    let served =
        manifest
            .dependencies
            .values()
            .filter_map(|dependency| match &dependency.provide {
                Provide::Process { process } => Some(process.clone()),
                _ => None,
            });
    let commands = processes.chain(operator).chain(backlogs);
    commands
        .flat_map(Command::placeholders)
        .filter_map(|name| {
            let role = name.strip_prefix("process.")?.split('.').next()?;
            Some(RoleName::new(role))
        })
        .chain(served)
        .collect()
}
