//! What a scenario runs in. A world is opened for each scenario and always closed.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::error::StepError;
use super::event::{Message, RunEvent, ScenarioId};
use super::interrupt::Interrupt;
use super::outcome::{Closing, Evidence, ScenarioOutcome};
use crate::ids::RunId;

/// What the steps of a scenario act on.
///
/// A world lives on one thread with a runtime of its own and need not be `Send`. It is
/// opened before the first step and closed whatever the steps did: after a failure, a
/// panic, a time-out, and after Ctrl-C.
pub trait World: Sized + 'static {
    /// What all worlds of one run share: warm servers, the manifest.
    type Shared: Send + Sync + 'static;

    /// Makes a fresh world. When its time is over, or on Ctrl-C, the future is dropped
    /// (after a short while in which it may end by itself, see
    /// [`Context::interrupt`]), so what it holds must clean up after itself then.
    fn open(
        context: &Context<Self::Shared>,
        scenario: &ScenarioInfo,
    ) -> impl Future<Output = Result<Self, StepError>>;

    /// Finds out what its steps left open. What is returned can make the outcome worse,
    /// never better.
    fn settle(&mut self, outcome: &ScenarioOutcome) -> impl Future<Output = Vec<Evidence>> {
        let _ = outcome;
        std::future::ready(Vec::new())
    }

    /// For how long it is to be watched before it is closed, while others run.
    fn lingers(&self, outcome: &ScenarioOutcome) -> Duration {
        let _ = outcome;
        Duration::ZERO
    }

    /// Ends the world. The outcome is that of the steps; what is returned can make it
    /// worse, never better.
    fn close(&mut self, outcome: &ScenarioOutcome) -> impl Future<Output = Closing>;
}

/// What holds for a whole run.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// Its name.
    pub id: RunId,
    /// What is rehearsed, by name.
    pub system: String,
    /// Every random choice comes from it.
    pub seed: u64,
    /// Where its reports go: `reports/<run>`.
    pub directory: PathBuf,
    /// Whether waiting is done in real time where it could be shortened.
    pub real_time: bool,
    /// Whether every scenario that there is was selected.
    pub whole: bool,
    /// How processes are run, if not as the manifest says.
    pub driver: Option<crate::deployment::DriverKind>,
}

/// What a world is opened with.
pub struct Context<S> {
    /// The run.
    pub run: Arc<RunInfo>,
    /// What all worlds of the run share.
    pub shared: Arc<S>,
    /// A directory for this scenario alone. It is not created yet.
    pub directory: PathBuf,
    /// Says what is happening now.
    pub notes: Notes,
    /// Tells when the run is being interrupted.
    pub interrupt: Interrupt,
}

/// One scenario as its world and the reports know it.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ScenarioInfo {
    /// Its number in the run.
    pub id: ScenarioId,
    /// The feature's file.
    pub path: String,
    /// The feature's name.
    pub feature: String,
    /// The rule it stands under.
    pub rule: Option<String>,
    /// Its name.
    pub name: String,
    /// The line that selects it.
    pub line: usize,
    /// Its tags, without `@`.
    pub tags: Vec<String>,
    /// A seed of its own, made from the run's seed and its names, so that it
    /// is the same whichever other scenarios run.
    pub seed: u64,
    /// Which repetition it is, from 1, where each scenario runs several times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<usize>,
}

impl ScenarioInfo {
    /// What selects it on the command line: `features/a.feature:12`.
    pub fn selector(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }

    /// A name for its directory: letters, digits and hyphens.
    pub fn slug(&self) -> String {
        let stem = self
            .path
            .trim_end_matches(".feature")
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let mut slug = String::new();
        for c in format!("{stem}-{}-{}", self.line, self.name).chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.truncate(60);
        let slug = slug.trim_matches('-');
        match self.repetition {
            Some(repetition) => format!("{slug}-r{repetition}"),
            None => slug.to_owned(),
        }
    }
}

/// Says what is happening now, for whoever watches the run.
#[derive(Clone, Debug)]
pub struct Notes {
    pub(super) scenario: Option<ScenarioId>,
    pub(super) to: Sender<Message>,
}

impl Notes {
    /// Says it.
    pub fn say(&self, text: impl Into<String>) {
        let text = text.into();
        let event = match self.scenario {
            Some(scenario) => RunEvent::ScenarioNote { scenario, text },
            None => RunEvent::RunNote { text },
        };
        // Nobody listens any more once the run is over, which is fine.
        let _ = self.to.send(Message::Event(event));
    }
}
