//! The one stream of what happens in a run. All reports are made from it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::exit::Exit;
use super::outcome::{Evidence, ScenarioOutcome};
use super::world::{RunInfo, ScenarioInfo};

/// A scenario's number in its run, from 0 in the order of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ScenarioId(pub usize);

/// Something that happened.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// The run begins; nothing was started yet.
    RunStarted {
        /// The run.
        run: Arc<RunInfo>,
        /// What will run, in order.
        scenarios: Vec<Arc<ScenarioInfo>>,
        /// How many run side by side.
        jobs: usize,
    },
    /// What is happening now outside of any scenario.
    RunNote {
        /// In words.
        text: String,
    },
    /// A scenario begins.
    ScenarioStarted {
        /// Which.
        scenario: ScenarioId,
    },
    /// A step begins.
    StepStarted {
        /// Whose.
        scenario: ScenarioId,
        /// Its position.
        step: usize,
        /// Keyword and text.
        text: String,
    },
    /// A step ended.
    StepEnded {
        /// Whose.
        scenario: ScenarioId,
        /// Its position.
        step: usize,
        /// How.
        exit: Exit,
        /// After how long.
        took: Duration,
    },
    /// What is happening now in a scenario.
    ScenarioNote {
        /// In which.
        scenario: ScenarioId,
        /// In words.
        text: String,
    },
    /// A scenario ended and its world is closed; or it will never run.
    ScenarioEnded {
        /// Which.
        scenario: ScenarioId,
        /// How.
        outcome: Arc<ScenarioOutcome>,
    },
    /// Ctrl-C or SIGTERM came.
    Interrupted,
    /// The run is over.
    RunEnded {
        /// How.
        result: Arc<RunResult>,
    },
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Its exit.
    pub exit: Exit,
    /// What went wrong outside of any scenario.
    pub evidence: Vec<Evidence>,
    /// Each scenario, in the order of the plan.
    pub scenarios: Vec<(Arc<ScenarioInfo>, Arc<ScenarioOutcome>)>,
    /// How long it took.
    pub took: Duration,
    /// What is worth a look although nothing is wrong.
    pub remarks: Vec<String>,
    /// Where the reports are.
    pub directory: PathBuf,
}

impl RunResult {
    /// How many scenarios ended like that. Those that never ran count for none.
    pub fn count(&self, verdict: Exit) -> usize {
        self.scenarios
            .iter()
            .filter(|(_, outcome)| outcome.ran && outcome.verdict == verdict)
            .count()
    }

    /// How many scenarios never ran.
    pub fn left_out(&self) -> usize {
        self.scenarios
            .iter()
            .filter(|(_, outcome)| !outcome.ran)
            .count()
    }
}

/// What reaches the thread that puts all events in order.
#[derive(Debug)]
pub(super) enum Message {
    /// Something happened.
    Event(RunEvent),
    /// A scenario entered something that must not last longer.
    Phase {
        scenario: ScenarioId,
        what: String,
        within: Duration,
    },
    /// A scenario did all it had to do, and is watched: another may begin.
    Lingers { scenario: ScenarioId },
    /// A scenario is over; its thread is about to end.
    Done {
        scenario: ScenarioId,
        outcome: Box<ScenarioOutcome>,
    },
}
