//! The board of one rehearsal: everything known at this moment, and the decisions at
//! every boundary. Taps ask it ([`Director`](crate::tap::Director)); what it learns goes to the history
//! first.
//!
//! ```text
//! tap ── before/after ──▶ board ── stage passed? fault armed? ──▶ actor (signals)
//!                          │
//!                          └──▶ history
//! ```

mod boundary;
mod calls;
mod clearing;
mod consumers;
mod cuts;
mod decision;
mod doom;
mod effects;
mod faults;
mod interference;
mod learning;
mod lives;
mod messages;
mod misbehaviour;
mod outages;
mod passages;
mod presumed;
mod quiet;
mod record;
mod recording;
mod rounds;
mod state;
mod unclear;
mod unnamed;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use nix::sys::signal::Signal;

use self::calls::Kept;
pub use self::calls::Site;
pub use self::recording::Passed;
pub(super) use self::state::Life;
use self::state::State;
use super::deliveries::Delivery;
use crate::history::History;
use crate::ids::{DependencyName, FaultId, Incarnation};
use crate::manifest::Manifest;
use crate::outage::Outages;
use crate::stub::Witnessed;
use crate::tap::Call;

/// Who carries out what the board decides.
pub(super) trait Actor: Send + Sync {
    /// Sends a signal and returns what was seen of it. For KILL it returns once the
    /// process was reaped.
    fn signal(
        &self,
        incarnation: Incarnation,
        signal: Signal,
        fault: Option<FaultId>,
    ) -> BoxFuture<'static, Result<String, String>>;

    /// Makes deliveries that nobody has visible at once.
    fn expire(&self, orphans: Vec<Delivery>) -> BoxFuture<'static, ()>;

    /// Makes a request to a dependency once more, so much later, past the taps.
    fn make_again(&self, call: Arc<Call>, later: Duration) -> BoxFuture<'static, ()>;
}

/// What is known of one rehearsal at this moment.
#[derive(Clone)]
pub(super) struct Board(Arc<Inner>);

/// A board that comes later. The services of a rehearsal tell it what they did, and the board
/// has them in its turn: it does not live by them.
#[derive(Clone, Default)]
pub(super) struct Late(Arc<OnceLock<Weak<Inner>>>);

impl Late {
    /// Here it is. Once.
    pub(super) fn set(&self, board: &Board) {
        let set = self.0.set(Arc::downgrade(&board.0));
        assert!(set.is_ok(), "a board comes once");
    }

    /// The board, once it is there and as long as the rehearsal lasts.
    pub(super) fn get(&self) -> Option<Board> {
        self.0.get()?.upgrade().map(Board)
    }
}

struct Inner {
    manifest: Arc<Manifest>,
    history: Arc<History>,
    /// Queue names at the dependency by (dependency, name in the manifest).
    queues: BTreeMap<(DependencyName, String), String>,
    actor: Mutex<Option<Arc<dyn Actor>>>,
    outages: Outages,
    /// The outside services that the harness does not play.
    witnessed: OnceLock<BTreeMap<DependencyName, Witnessed>>,
    /// The calls that were made, while somebody asks for them.
    sites: Mutex<Option<Vec<Kept>>>,
    /// The same as they passed, while somebody learns from them.
    recorded: Mutex<Option<Vec<Passed>>>,
    state: Mutex<State>,
}

impl Board {
    pub(super) fn new(
        manifest: Arc<Manifest>,
        history: Arc<History>,
        queues: BTreeMap<(DependencyName, String), String>,
    ) -> Self {
        let outages = Outages::new(Arc::clone(&manifest), Arc::clone(&history));
        Self(Arc::new(Inner {
            manifest,
            history,
            queues,
            actor: Mutex::default(),
            outages,
            witnessed: OnceLock::new(),
            sites: Mutex::default(),
            recorded: Mutex::default(),
            state: Mutex::default(),
        }))
    }

    /// Gives the board its hands. Once.
    pub(super) fn set_actor(&self, actor: Arc<dyn Actor>) {
        let before = self.acting().replace(actor);
        assert!(before.is_none(), "a board gets its actor once");
    }

    /// Lets go of the actor, which has the board in its turn: neither would ever end.
    pub(super) fn dismiss_actor(&self) {
        let actor = self.acting().take();
        drop(actor);
    }

    fn actor(&self) -> Option<Arc<dyn Actor>> {
        self.acting().clone()
    }

    fn acting(&self) -> MutexGuard<'_, Option<Arc<dyn Actor>>> {
        self.0.actor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the board what is asked of services that the harness does not play. Once.
    pub(super) fn set_witnessed(&self, services: BTreeMap<DependencyName, Witnessed>) {
        assert!(
            self.0.witnessed.set(services).is_ok(),
            "a board gets its services once"
        );
    }

    pub(super) fn history(&self) -> &Arc<History> {
        &self.0.history
    }

    pub(super) fn manifest(&self) -> &Arc<Manifest> {
        &self.0.manifest
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something, looking again after each new entry.
    pub(super) async fn until<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let mut last = self.0.history.watch();
        loop {
            last.mark_unchanged();
            if let Some(found) = look() {
                return found;
            }
            // The sender lives as long as the history.
            let _ = last.changed().await;
        }
    }
}

#[cfg(test)]
mod tests;
