//! What people and machines get to see of a run. All reports are made from the one
//! stream of [`RunEvent`]s, so that they cannot disagree.
//!
//! | file in `reports/<run>/` | for |
//! |---|---|
//! | `summary.json` | programs: verdicts, evidence, figures; written as the run goes |
//! | `junit.xml` | CI |
//! | `rerun.txt` | `rehearse @reports/rerun.txt`: the places of what did not pass |

pub(crate) mod diagnostic;
mod file;
mod junit;
pub(crate) mod recorded;
mod repeat;
mod request;
mod rerun;
mod summary;
pub(crate) mod terminal;

use std::io;

use crate::gherkin::{Listener, RunEvent};

pub use file::ReportError;
pub use junit::Junit;
pub use recorded::{Recorded, UnreadableRun};
pub use repeat::Repeat;
pub use request::{ReportKind, ReportRequest, ReportRequestError};
pub use rerun::Rerun;
pub use summary::Summary;
pub use terminal::{Terminal, TerminalOptions};

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
