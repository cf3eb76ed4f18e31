//! One instance of a role, and what runs in it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use nix::sys::signal::Signal;
use tokio::sync::watch;

use super::super::surroundings::Surroundings;
use super::{ProcessError, locked};
use crate::deployment::{Child, Seat};
use crate::history::DeathCause;
use crate::ids::{Incarnation, RoleName};
use crate::tap::Gate;

/// One instance of a role, through all its incarnations.
pub(super) struct Slot {
    pub(super) role: RoleName,
    pub(super) instance: u32,
    /// Whether it should be up.
    pub(super) wanted: watch::Sender<bool>,
    pub(super) now: watch::Sender<Now>,
    pub(super) current: watch::Sender<Option<Current>>,
    /// Where it runs; taken at its first start.
    pub(super) seat: Mutex<Option<Seat>>,
}

/// What an instance is doing.
#[derive(Clone, Debug)]
pub(super) enum Now {
    /// Not there.
    Down,
    /// Dead; its connections and what it had in hand are being settled.
    Ending,
    Starting,
    Up,
    /// It cannot be run.
    Broken(Arc<ProcessError>),
}

/// The running incarnation, for whoever wants to signal or reach it.
#[derive(Clone)]
pub(super) struct Current {
    pub(super) incarnation: Incarnation,
    pub(super) child: Child,
    pub(super) gate: Arc<Gate>,
    /// Where its clients connect, if it listens.
    pub(super) front: Option<SocketAddr>,
    /// Where it listens itself.
    pub(super) reached: Option<SocketAddr>,
    pub(super) cause: Arc<Mutex<Option<DeathCause>>>,
    /// True once its end stands in the history.
    pub(super) ended: watch::Receiver<bool>,
}

impl Current {
    /// Sends a signal that may end it, for this cause; one that was not delivered is no
    /// excuse for a later death.
    pub(super) fn signal_for(&self, signal: Signal, cause: DeathCause) -> Result<(), String> {
        let before = *locked(&self.cause);
        locked(&self.cause).get_or_insert(cause);
        self.child.signal(signal).map_err(|error| {
            *locked(&self.cause) = before;
            error.to_string()
        })
    }
}

/// The running incarnation, for its supervisor.
pub(super) struct Running {
    pub(super) current: Current,
    pub(super) ended: watch::Sender<bool>,
    pub(super) around: Surroundings,
    pub(super) seat: Seat,
}

impl Slot {
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.role, self.instance)
    }

    /// Resolves once it is up, or cannot be.
    pub(super) async fn up(&self) -> Result<(), ProcessError> {
        let mut now = self.now.subscribe();
        let reached = now
            .wait_for(|now| match now {
                Now::Up | Now::Broken(_) => true,
                // One that died, as it was expected to, and is not started again.
                Now::Down => !*self.wanted.borrow(),
                Now::Ending | Now::Starting => false,
            })
            .await;
        match reached.as_deref() {
            Ok(Now::Broken(error)) => Err(ProcessError::Broken(Arc::clone(error))),
            Ok(_) => Ok(()),
            Err(_) => Err(ProcessError::NotRunning {
                process: self.name(),
            }),
        }
    }

    /// The incarnation that runs now.
    pub(super) fn now(&self) -> Option<Current> {
        self.current.borrow().clone()
    }
}
