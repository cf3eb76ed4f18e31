//! `summary.json`: a run for programs. It is written anew as scenarios end, so that a
//! run that was cut off still has one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Repeat, Report, ReportError, Target, state};
use crate::gherkin::{
    Evidence, Exit, RunEvent, RunInfo, RunResult, ScenarioInfo, ScenarioOutcome, seconds,
};
use crate::ids::RunId;

/// The version of its format: raised by a change that an older reader would misunderstand.
pub(super) const VERSION: u32 = 1;

/// Writes the summary.
pub struct Summary {
    to: Target,
    repeat: Repeat,
    begun: Instant,
    run: Option<Arc<RunInfo>>,
    scenarios: Vec<Arc<ScenarioInfo>>,
    outcomes: BTreeMap<usize, Arc<ScenarioOutcome>>,
    /// Not before this is it written anew while the run goes on.
    due: Instant,
}

#[derive(Serialize)]
struct Whole<'a> {
    version: u32,
    run: &'a RunId,
    system: &'a str,
    seed: u64,
    /// `running` until the run is over.
    state: &'static str,
    exit: Option<Exit>,
    code: Option<u8>,
    #[serde(serialize_with = "seconds")]
    took: Duration,
    counts: BTreeMap<String, usize>,
    evidence: &'a [Evidence],
    remarks: &'a [String],
    scenarios: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    place: String,
    /// The command that repeats it.
    repeat: String,
    #[serde(flatten)]
    info: &'a ScenarioInfo,
    #[serde(flatten)]
    outcome: Option<&'a ScenarioOutcome>,
}

impl Summary {
    /// Writes there.
    pub fn new(to: impl Into<Target>, repeat: Repeat) -> Self {
        Self {
            to: to.into(),
            repeat,
            begun: Instant::now(),
            run: None,
            scenarios: Vec::new(),
            outcomes: BTreeMap::new(),
            due: Instant::now(),
        }
    }

    /// Writing a long run's summary after each of its scenarios would take longer than
    /// the scenarios; a twentieth of the time is enough.
    fn write_if_due(&mut self) -> Result<(), ReportError> {
        let begun = Instant::now();
        if begun < self.due {
            return Ok(());
        }
        self.write(None)?;
        self.due = Instant::now() + begun.elapsed() * 20;
        Ok(())
    }

    fn write(&mut self, result: Option<&RunResult>) -> Result<(), ReportError> {
        let Some(run) = &self.run else { return Ok(()) };
        if result.is_none() && !self.to.takes_drafts() {
            return Ok(());
        }
        let mut counts = BTreeMap::new();
        for outcome in self.outcomes.values() {
            *counts.entry(state(outcome)).or_default() += 1;
        }
        let entry = |(number, info)| Entry {
            place: ScenarioInfo::selector(info),
            repeat: self.repeat.of(info),
            info,
            outcome: self.outcomes.get(&number).map(|outcome| &**outcome),
        };
        let whole = Whole {
            version: VERSION,
            run: &run.id,
            system: &run.system,
            seed: run.seed,
            state: if result.is_some() { "ended" } else { "running" },
            exit: result.map(|result| result.exit),
            code: result.map(|result| result.exit.code()),
            took: result.map_or_else(|| self.begun.elapsed(), |result| result.took),
            counts,
            evidence: result.map_or(&[], |result| &result.evidence),
            remarks: result.map_or(&[], |result| &result.remarks),
            scenarios: self
                .scenarios
                .iter()
                .map(|info| &**info)
                .enumerate()
                .map(entry)
                .collect(),
        };
        let content = |error: serde_json::Error| ReportError::Content {
            path: self.to.name(),
            reason: error.to_string(),
        };
        let mut text = serde_json::to_string_pretty(&whole).map_err(content)?;
        text.push('\n');
        self.to.write(&text)
    }
}

impl Report for Summary {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        match event {
            RunEvent::RunStarted { run, scenarios, .. } => {
                self.run = Some(Arc::clone(run));
                self.scenarios.clone_from(scenarios);
                self.write(None)
            }
            RunEvent::ScenarioEnded { scenario, outcome } => {
                self.outcomes.insert(scenario.0, Arc::clone(outcome));
                self.write_if_due()
            }
            RunEvent::RunEnded { result } => self.write(Some(result)),
            _ => Ok(()),
        }
    }
}
