//! The processes of one rehearsal: each instance has a supervisor that starts it,
//! puts taps of its own around it, sees it die, settles what it left, and starts it
//! again.
//!
//! ```text
//! gate closed ─▶ signal ─▶ reaped ─▶ held call dropped ─▶ taps drained ─▶ orphans
//! expired ─▶ next incarnation
//! ```

mod actor;
mod error;
mod slot;
mod supervisor;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::signal::Signal;
use tokio::sync::watch;

pub use self::error::ProcessError;
use self::slot::{Current, Now, Slot};
use super::board::{Actor as _, Board, Life};
use super::dependencies::Dependencies;
use super::overrides::Overrides;
use crate::deployment::{Driver, Seat};
use crate::history::{DeathCause, Event};
use crate::ids::{Author, FaultId, Incarnation, RoleName};
use crate::manifest::Process;

/// All processes of one rehearsal.
#[derive(Clone)]
pub(super) struct Processes(Arc<Inner>);

struct Inner {
    board: Board,
    dependencies: Arc<Dependencies>,
    driver: Arc<dyn Driver>,
    logs: PathBuf,
    real_time: bool,
    overrides: Overrides,
    slots: Mutex<BTreeMap<(RoleName, u32), Arc<Slot>>>,
}

impl Processes {
    /// Whether what only time would end is left to it.
    pub(super) fn is_real_time(&self) -> bool {
        self.0.real_time
    }

    pub(super) fn new(
        board: Board,
        dependencies: Arc<Dependencies>,
        driver: Arc<dyn Driver>,
        logs: PathBuf,
        real_time: bool,
        overrides: Overrides,
    ) -> Self {
        let slots = Mutex::default();
        Self(Arc::new(Inner {
            board,
            dependencies,
            driver,
            logs,
            real_time,
            overrides,
            slots,
        }))
    }

    /// Starts these instances side by side and waits until all are ready.
    ///
    /// # Errors
    /// The first that cannot be run.
    pub(super) async fn start_all(
        &self,
        instances: impl IntoIterator<Item = (RoleName, u32)>,
    ) -> Result<(), ProcessError> {
        let slots: Vec<Arc<Slot>> = instances
            .into_iter()
            .map(|(role, instance)| {
                let slot = Arc::new(Slot {
                    role: role.clone(),
                    instance,
                    wanted: watch::Sender::new(true),
                    now: watch::Sender::new(Now::Starting),
                    current: watch::Sender::new(None),
                    seat: Mutex::default(),
                });
                locked(&self.0.slots).insert((role, instance), Arc::clone(&slot));
                tokio::spawn(self.clone().supervise(Arc::clone(&slot)));
                slot
            })
            .collect();
        futures::future::try_join_all(slots.iter().map(|slot| slot.up()))
            .await
            .map(drop)
    }

    fn manifest_of(&self, role: &RoleName) -> Process {
        self.0.board.manifest().processes[role].clone()
    }

    fn slot(&self, role: &RoleName, instance: u32) -> Option<Arc<Slot>> {
        locked(&self.0.slots)
            .get(&(role.clone(), instance))
            .cloned()
    }

    fn slots_of(&self, role: &RoleName) -> Vec<Arc<Slot>> {
        locked(&self.0.slots)
            .values()
            .filter(|slot| slot.role == *role)
            .cloned()
            .collect()
    }

    /// An incarnation that runs; none if it is gone. One that calls before its driver has
    /// told that it started is waited for.
    async fn current(&self, incarnation: &Incarnation) -> Option<Current> {
        let slot = self.slot(&incarnation.role, incarnation.instance)?;
        let mut current = slot.current.subscribe();
        let mut now = slot.now.subscribe();
        loop {
            now.borrow_and_update();
            let seen = current.borrow_and_update().clone();
            if let Some(seen) = seen.filter(|current| current.incarnation == *incarnation) {
                return Some(seen);
            }
            if !self.0.board.is_registered(incarnation) {
                return None;
            }
            tokio::select! {
                _ = current.changed() => {}
                _ = now.changed() => {}
            }
        }
    }

    /// Ends a process with a signal and returns once its end stands in the history.
    async fn end(
        &self,
        current: &Current,
        signal: Signal,
        cause: DeathCause,
    ) -> Result<String, String> {
        if signal == Signal::SIGKILL {
            self.0.board.set_life(&current.incarnation, Life::Ending);
            current.gate.close().await;
        }
        current.signal_for(signal, cause)?;
        let outcome = current.child.exited().await;
        let mut ended = current.ended.clone();
        // An error means that the supervisor is gone, which only the end of the
        // rehearsal does.
        let _ = ended.wait_for(|ended| *ended).await;
        let (name, pid) = (current.child.name(), current.child.pid());
        let evidence = format!("{name} (pid {pid}) {outcome}");
        if signal == Signal::SIGKILL && !outcome.is_signal(Signal::SIGKILL) {
            return Err(format!("{evidence} before the signal arrived"));
        }
        Ok(evidence)
    }

    /// Asks every instance of a role to stop (SIGTERM), kills it after its grace, and
    /// keeps it down.
    pub(super) async fn stop(&self, role: &RoleName) -> Result<(), ProcessError> {
        let grace = self.manifest_of(role).stop_within;
        for slot in self.slots_of(role) {
            slot.wanted.send_replace(false);
            if let Some(current) = slot.now() {
                self.note_signal(&current.incarnation, Signal::SIGTERM, None);
                let stopping = self.end(&current, Signal::SIGTERM, DeathCause::Ordered);
                // What does not stop in its grace is killed below.
                let _ = tokio::time::timeout(grace, stopping).await;
            }
            self.bring_down(&slot, DeathCause::Ordered).await;
        }
        Ok(())
    }

    /// Kills every instance of a role; its supervisor starts it again.
    pub(super) async fn kill(&self, role: &RoleName) -> Result<(), ProcessError> {
        for slot in self.slots_of(role) {
            let Some(current) = slot.now() else {
                return Err(ProcessError::NotRunning {
                    process: slot.name(),
                });
            };
            self.note_signal(&current.incarnation, Signal::SIGKILL, None);
            // Dead of something else already is dead all the same; the history says so.
            let _ = self
                .end(&current, Signal::SIGKILL, DeathCause::Ordered)
                .await;
        }
        Ok(())
    }

    /// Lets every instance of a role come up (again) and waits until it is ready.
    pub(super) async fn start(&self, role: &RoleName) -> Result<(), ProcessError> {
        if self.slots_of(role).is_empty() {
            // None ran by default; the scenario wants one.
            return self.start_all([(role.clone(), 1)]).await;
        }
        for slot in self.slots_of(role) {
            slot.wanted.send_replace(true);
            slot.up().await?;
        }
        Ok(())
    }

    /// Where clients of a role connect now: its first instance that is up.
    pub(super) async fn front(&self, role: &RoleName) -> Result<SocketAddr, ProcessError> {
        for slot in self.slots_of(role) {
            if *slot.wanted.borrow() {
                self.settled_up(&slot).await?;
            }
            if let Some(front) = slot.now().and_then(|current| current.front) {
                return Ok(front);
            }
        }
        Err(ProcessError::NotRunning {
            process: role.to_string(),
        })
    }

    /// Where a role's first instance listens now, past every tap. Whoever asks before it
    /// was ever up waits; none: it is down.
    pub(super) async fn behind(&self, role: &RoleName) -> Option<SocketAddr> {
        let slot = self.slots_of(role).into_iter().next()?;
        let first = slot
            .now()
            .is_none_or(|current| current.incarnation.start == 1);
        if first && *slot.wanted.borrow() {
            slot.up().await.ok()?;
        }
        slot.now().and_then(|current| current.reached)
    }

    /// Resolves once an instance is up and not about to be replaced: of one that was
    /// killed the next incarnation counts.
    async fn settled_up(&self, slot: &Slot) -> Result<(), ProcessError> {
        loop {
            slot.up().await?;
            let mut current = slot.current.subscribe();
            let ending = current.borrow_and_update().as_ref().is_some_and(|current| {
                self.0
                    .board
                    .is_ending(&Author::Process(current.incarnation.clone()))
            });
            if !ending {
                return Ok(());
            }
            // The supervisor outlives every incarnation.
            let _ = current.changed().await;
        }
    }

    /// The incarnations of a role that run now.
    pub(super) fn running(&self, role: &RoleName, instance: Option<u32>) -> Vec<Incarnation> {
        self.slots_of(role)
            .into_iter()
            .filter(|slot| instance.is_none_or(|instance| slot.instance == instance))
            .filter_map(|slot| Some(slot.now()?.incarnation))
            .collect()
    }

    /// Sends a signal by order of a step.
    pub(super) async fn send(
        &self,
        incarnation: Incarnation,
        signal: Signal,
    ) -> Result<(), ProcessError> {
        let process = incarnation.to_string();
        match self.signal(incarnation, signal, None).await {
            Ok(_) => Ok(()),
            Err(reason) => Err(ProcessError::Signal {
                process,
                signal,
                reason,
            }),
        }
    }

    /// Instances that are on their way up or down, or down though wanted.
    pub(super) fn starting(&self) -> Vec<String> {
        locked(&self.0.slots)
            .values()
            .filter(|slot| match *slot.now.borrow() {
                Now::Ending => true,
                Now::Starting | Now::Down => *slot.wanted.borrow(),
                Now::Up | Now::Broken(_) => false,
            })
            .map(|slot| slot.name())
            .collect()
    }

    /// Why something that should run cannot.
    pub(super) fn broken(&self) -> Option<Arc<ProcessError>> {
        locked(&self.0.slots)
            .values()
            .find_map(|slot| match &*slot.now.borrow() {
                Now::Broken(error) => Some(Arc::clone(error)),
                _ => None,
            })
    }

    /// Ends everything: nothing is restarted, every process is killed and its
    /// connections are closed.
    pub(super) async fn shut_down(&self) {
        let slots: Vec<Arc<Slot>> = locked(&self.0.slots).values().cloned().collect();
        for slot in &slots {
            slot.wanted.send_replace(false);
        }
        let ending = slots
            .iter()
            .map(|slot| self.bring_down(slot, DeathCause::Shutdown));
        futures::future::join_all(ending).await;
        for slot in &slots {
            locked(&slot.seat).take();
        }
    }

    /// Cuts every instance of a role off from everything.
    pub(super) async fn cut_off(&self, role: &RoleName) -> Result<(), ProcessError> {
        for slot in self.slots_of(role) {
            let seat = locked(&slot.seat).clone();
            let (Some(seat), Some(current)) = (seat, slot.now()) else {
                let process = slot.name();
                return Err(ProcessError::NotRunning { process });
            };
            self.cut_off_one(&seat, &current.incarnation).await?;
        }
        Ok(())
    }

    /// A cut is a fault like any other: it is armed, and has to be seen.
    async fn cut_off_one(
        &self,
        seat: &Seat,
        incarnation: &Incarnation,
    ) -> Result<(), ProcessError> {
        if seat.is_host() {
            seat.cut_off().await?;
        }
        let fault = self.0.board.begin_cut(incarnation);
        if let Err(error) = seat.cut_off().await {
            self.0.board.miss(fault, error.to_string());
            return Err(error.into());
        }
        if seat.is_cut_off().await? {
            self.0.board.cut(fault, incarnation);
        } else {
            let reason = format!("the engine still tells of a network of {incarnation}");
            self.0.board.miss(fault, reason);
        }
        Ok(())
    }

    /// Ends [`Processes::cut_off`].
    pub(super) async fn join(&self, role: &RoleName) -> Result<(), ProcessError> {
        for slot in self.slots_of(role) {
            let seat = locked(&slot.seat).clone();
            if let Some(seat) = seat {
                seat.join().await?;
                self.0.board.reached(&slot.role, slot.instance);
            }
        }
        Ok(())
    }

    /// Stops an incarnation that is never to go on; what it had in hand becomes visible.
    pub(super) async fn leave_standing(
        &self,
        incarnation: Incarnation,
    ) -> Result<(), ProcessError> {
        self.send(incarnation.clone(), Signal::SIGSTOP).await?;
        let orphans = self.0.board.leave_standing(&incarnation);
        self.expire_all(orphans).await;
        Ok(())
    }

    /// Kills an instance that is not wanted any more, also one that is just starting,
    /// and returns once its death is settled.
    async fn bring_down(&self, slot: &Slot, cause: DeathCause) {
        let mut current = slot.current.subscribe();
        let mut now = slot.now.subscribe();
        loop {
            if matches!(*now.borrow_and_update(), Now::Down | Now::Broken(_)) {
                return;
            }
            let running = current.borrow_and_update().clone();
            if let Some(running) = running {
                self.note_signal(&running.incarnation, Signal::SIGKILL, None);
                let _ = self.end(&running, Signal::SIGKILL, cause).await;
            }
            tokio::select! {
                _ = current.changed() => {}
                _ = now.changed() => {}
            }
        }
    }

    fn note_signal(&self, incarnation: &Incarnation, signal: Signal, fault: Option<FaultId>) {
        if signal == Signal::SIGTERM {
            self.0.board.told_to_end(incarnation);
        }
        self.0.board.history().append(Event::Signalled {
            incarnation: incarnation.clone(),
            signal: signal.to_string(),
            fault,
        });
    }

    /// What single processes get that others do not.
    pub(super) fn overrides(&self) -> &Overrides {
        &self.0.overrides
    }

    /// The run's driver, for whatever else is started in this rehearsal.
    pub(super) fn driver(&self) -> &Arc<dyn Driver> {
        &self.0.driver
    }
}

fn signal_name(number: i32) -> String {
    Signal::try_from(number)
        .map_or_else(|_| format!("signal {number}"), |signal| signal.to_string())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
