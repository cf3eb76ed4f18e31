//! A run as its folder holds it: read back, so that reports can be made again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::gherkin::{
    Evidence, Exit, Listener, RunEvent, RunInfo, RunResult, ScenarioInfo, ScenarioOutcome,
    from_seconds,
};
use crate::ids::RunId;

/// A folder holds no run that can be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum UnreadableRun {
    /// There is no summary, or it cannot be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    #[diagnostic(help(
        "name the folder of a run: `reports/latest`, or one beside it that holds a `summary.json`"
    ))]
    File {
        /// The summary.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no summary, or one of another version.
    #[error("{path} is no summary that this version reads: {source}", path = .path.display())]
    #[diagnostic(help("use the version of rehearse that wrote it"))]
    Content {
        /// The summary.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// It is of another version.
    #[error("{path} has version {found}, and this rehearse reads {known}", path = .path.display(), known = super::summary::VERSION)]
    #[diagnostic(help("use the version of rehearse that wrote it"))]
    Version {
        /// The summary.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

/// A run, read back from its folder.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The run.
    pub run: Arc<RunInfo>,
    /// How it ended. A run that was cut off has scenarios that never ran.
    pub result: Arc<RunResult>,
    /// The commands that repeat its scenarios, in their order.
    pub repeat: Vec<String>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
struct Whole {
    run: RunId,
    #[serde(default)]
    system: String,
    seed: u64,
    exit: Option<Exit>,
    #[serde(deserialize_with = "from_seconds")]
    took: Duration,
    evidence: Vec<Evidence>,
    #[serde(default)]
    remarks: Vec<String>,
    scenarios: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(flatten)]
    info: ScenarioInfo,
    #[serde(default)]
    repeat: String,
    #[serde(flatten)]
    outcome: Option<ScenarioOutcome>,
}

impl Recorded {
    /// Reads the `summary.json` of a run's folder.
    ///
    /// # Errors
    /// When there is none, or it is of another version.
    pub fn read(directory: &Path) -> Result<Self, UnreadableRun> {
        let path = directory.join("summary.json");
        let text = fs::read_to_string(&path).map_err(|source| UnreadableRun::File {
            path: path.clone(),
            source,
        })?;
        let content = |source| UnreadableRun::Content {
            path: path.clone(),
            source,
        };
        let Version { version } = serde_json::from_str(&text).map_err(content)?;
        if version != super::summary::VERSION {
            return Err(UnreadableRun::Version {
                path,
                found: version,
            });
        }
        let whole: Whole = serde_json::from_str(&text).map_err(content)?;
        Ok(Self::of(directory, whole))
    }

    fn of(directory: &Path, whole: Whole) -> Self {
        let (mut scenarios, mut repeat) = (Vec::new(), Vec::new());
        for entry in whole.scenarios {
            let outcome = entry.outcome.unwrap_or_else(ScenarioOutcome::left_out);
            scenarios.push((Arc::new(entry.info), Arc::new(outcome)));
            repeat.push(entry.repeat);
        }
        let run = RunInfo {
            id: whole.run,
            system: whole.system,
            whole: false,
            seed: whole.seed,
            directory: directory.to_owned(),
            real_time: false,
            driver: None,
        };
        let result = RunResult {
            exit: whole.exit.unwrap_or(Exit::Interrupted),
            evidence: whole.evidence,
            remarks: whole.remarks,
            scenarios,
            took: whole.took,
            directory: directory.to_owned(),
        };
        Self {
            run: Arc::new(run),
            result: Arc::new(result),
            repeat,
        }
    }

    /// Tells it anew, as if it ended now.
    pub fn tell(&self, listener: &mut dyn Listener) {
        let scenarios = &self.result.scenarios;
        listener.event(&RunEvent::RunStarted {
            run: Arc::clone(&self.run),
            scenarios: scenarios.iter().map(|(info, _)| Arc::clone(info)).collect(),
            jobs: 1,
        });
        for (info, outcome) in scenarios {
            listener.event(&RunEvent::ScenarioEnded {
                scenario: info.id,
                outcome: Arc::clone(outcome),
            });
        }
        listener.event(&RunEvent::RunEnded {
            result: Arc::clone(&self.result),
        });
    }

    /// The folder of a scenario that has a history: by its last part, so that a run's
    /// folder may have been moved.
    pub fn folder_of(&self, outcome: &ScenarioOutcome) -> Option<PathBuf> {
        let name = outcome.history.as_ref()?.parent()?.file_name()?;
        Some(self.run.directory.join(name))
    }
}
