//! `rerun.txt`: what did not pass, as places that `rehearse @rerun.txt` runs again.

use std::fmt::Write as _;

use super::{Report, ReportError, Target, is_passed, state};
use crate::gherkin::RunEvent;

/// Writes the places of what did not pass, what never ran among them.
pub struct Rerun {
    to: Target,
}

impl Rerun {
    /// Writes there.
    pub fn new(to: impl Into<Target>) -> Self {
        Self { to: to.into() }
    }
}

impl Report for Rerun {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        let RunEvent::RunEnded { result } = event else {
            return Ok(());
        };
        let mut text = String::new();
        for (scenario, outcome) in &result.scenarios {
            if !is_passed(outcome) {
                let state = state(outcome);
                let _ = writeln!(
                    text,
                    "# {state}: {}\n{}",
                    scenario.name,
                    scenario.selector()
                );
            }
        }
        self.to.write(&text)
    }
}
