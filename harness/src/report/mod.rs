//! What people and machines get to see of a run. All reports are made from the one
//! stream of [`RunEvent`]s, so that they cannot disagree.
//!
//! | file in `reports/<run>/` | for |
//! |---|---|
//! | `report.html` | people: verdicts, reasons, timelines |
//! | `summary.json` | programs: verdicts, evidence, figures; written as the run goes |
//! | `summary.md` | people who look at a pull request |
//! | `junit.xml` | CI |
//! | `messages.ndjson` | tools that read Cucumber Messages |
//! | `rerun.txt` | `rehearse @reports/rerun.txt`: the places of what did not pass |

mod ci;
pub(crate) mod diagnostic;
mod file;
mod github;
mod html;
mod junit;
mod keep;
mod markdown;
mod messages;
pub(crate) mod recorded;
mod repeat;
mod request;
mod rerun;
mod set;
mod summary;
mod target;
pub(crate) mod terminal;
mod unwritten;

use std::collections::BTreeMap;
use std::io;

use crate::gherkin::{Exit, Listener, RunEvent, RunResult, ScenarioOutcome};

pub use ci::Ci;
pub use file::ReportError;
pub use github::Annotations;
pub use html::Html;
pub use junit::Junit;
pub use keep::{Keep, KeepError, Keeper};
pub use markdown::Markdown;
pub use messages::Messages;
pub use recorded::{Recorded, UnreadableRun};
pub use repeat::Repeat;
pub use request::{ReportKind, ReportRequest, ReportRequestError};
pub use rerun::Rerun;
pub use set::{Wanted, add, files};
pub use summary::Summary;
pub use target::{Stream, Target};
pub use terminal::{Terminal, TerminalOptions};
pub use unwritten::unwritten;

/// Makes one report of a run.
pub trait Report: Send {
    /// Something happened.
    ///
    /// # Errors
    /// If the report cannot be written.
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError>;

    /// Time passed.
    ///
    /// # Errors
    /// If the report cannot be written.
    fn tick(&mut self) -> Result<(), ReportError> {
        Ok(())
    }
}

/// How a scenario ended, in the words of the terminal.
fn state(outcome: &ScenarioOutcome) -> String {
    match outcome.verdict {
        _ if !outcome.ran => "not run".to_owned(),
        verdict => verdict.to_string(),
    }
}

/// How many scenarios ended how, in the words of the terminal and in its order.
fn counts(result: &RunResult) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (_, outcome) in &result.scenarios {
        *counts.entry(state(outcome)).or_default() += 1;
    }
    counts
}

/// Whether a scenario's end is no success. What never ran is none, either.
fn is_passed(outcome: &ScenarioOutcome) -> bool {
    outcome.ran && outcome.verdict == Exit::Passed
}

/// Makes several reports of a run.
#[derive(Default)]
pub struct Reports {
    reports: Vec<Option<Box<dyn Report>>>,
    errors: Vec<ReportError>,
}

impl Reports {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a report.
    #[must_use]
    pub fn with(mut self, report: impl Report + 'static) -> Self {
        self.add(report);
        self
    }

    /// Adds a report.
    pub fn add(&mut self, report: impl Report + 'static) {
        self.reports.push(Some(Box::new(report)));
    }

    /// What could not be written. The run went on without it.
    pub fn errors(&self) -> &[ReportError] {
        &self.errors
    }

    fn each(&mut self, mut tell: impl FnMut(&mut dyn Report) -> Result<(), ReportError>) {
        for slot in &mut self.reports {
            let Some(report) = slot else { continue };
            if let Err(error) = tell(report.as_mut()) {
                // A report with a hole would lie.
                *slot = None;
                let unread = matches!(&error, ReportError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe);
                if !unread {
                    self.errors.push(error);
                }
            }
        }
    }
}

impl Listener for Reports {
    fn event(&mut self, event: &RunEvent) {
        self.each(|report| report.event(event));
    }

    fn tick(&mut self) {
        self.each(|report| report.tick());
    }
}
