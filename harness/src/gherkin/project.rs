//! What is rehearsed: the tie between the frame and a kind of world.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::error::StepError;
use super::interrupt::Interrupt;
use super::vocabulary::Vocabulary;
use super::world::{Notes, RunInfo, World};

/// Options of a profile, each with its values.
pub type ProfileOptions = Vec<(String, Vec<String>)>;

/// A kind of world with its phrases, and what a whole run needs around its scenarios.
///
/// The life of a run: [`Project::prepare`] once, then a [`World`] for each scenario, then
/// [`Project::finish`] once, whatever happened.
pub trait Project: Send + Sync + 'static {
    /// What a scenario runs in.
    type World: World;

    /// The phrases that features may use.
    fn vocabulary(&self) -> Vocabulary<Self::World>;

    /// How long things may take.
    fn limits(&self) -> Limits;

    /// What is worth a look once all scenarios of a run have ended, although nothing is
    /// wrong.
    fn remarks(&self, run: &RunInfo, shared: &Shared<Self>) -> Vec<String> {
        let _ = (run, shared);
        Vec::new()
    }

    /// What is rehearsed, by name.
    fn system(&self) -> String {
        String::new()
    }

    /// What whoever wrote the project should know before it runs, though it can run.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Options of a run by the name of a profile: each with its values, flags with `true`.
    fn profiles(&self) -> Vec<(String, ProfileOptions)> {
        Vec::new()
    }

    /// Why a scenario with these tags cannot be part of this run, if it cannot. It is
    /// left out then, and that is said.
    fn leaves_out(&self, run: &RunInfo, tags: &[String]) -> Option<String> {
        let _ = (run, tags);
        None
    }

    /// Builds and starts what all scenarios share. Runs on a runtime with several
    /// threads that lives until the run is over; what is spawned on it goes on.
    /// Dropped on Ctrl-C.
    fn prepare(
        &self,
        run: &Arc<RunInfo>,
        notes: &Notes,
        interrupt: &Interrupt,
    ) -> impl Future<Output = Result<Shared<Self>, StepError>> + Send;

    /// Ends what all scenarios shared, and sweeps what scenarios left behind. When a
    /// scenario had to be abandoned its world may still hold the shared part.
    fn finish(
        &self,
        shared: Arc<Shared<Self>>,
    ) -> impl Future<Output = Result<(), StepError>> + Send;
}

/// What all worlds of one run of a project share.
pub type Shared<P> = <<P as Project>::World as World>::Shared;

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One step.
    pub step: Duration,
    /// The opening of the world and all steps together.
    pub scenario: Duration,
    /// The closing of a world, and the end of a run.
    pub close: Duration,
    /// How much later than its limit something may end before its thread counts as
    /// blocked and is abandoned.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(30),
            scenario: Duration::from_mins(1),
            close: Duration::from_secs(20),
            grace: Duration::from_secs(3),
        }
    }
}
