//! `rerun.txt`: what did not pass, as places that `rehearse @rerun.txt` runs again.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{Report, ReportError, file};
use crate::gherkin::{Exit, RunEvent};

/// Writes the places of what did not pass, what never ran among them.
pub struct Rerun {
    path: PathBuf,
}

impl Rerun {
    /// Writes to this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl Report for Rerun {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        let RunEvent::RunEnded { result } = event else {
            return Ok(());
        };
        let mut text = String::new();
        for (scenario, outcome) in &result.scenarios {
            if outcome.verdict != Exit::Passed {
                let state = if outcome.ran {
                    outcome.verdict.to_string()
                } else {
                    "not run".to_owned()
                };
                let _ = writeln!(
                    text,
                    "# {state}: {}\n{}",
                    scenario.name,
                    scenario.selector()
                );
            }
        }
        file::write(&self.path, &text)
    }
}
