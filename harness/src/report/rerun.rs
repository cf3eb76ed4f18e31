//! `rerun.txt`: what did not pass, as places that `rehearse @rerun.txt` runs again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use super::{Report, ReportError, Target, is_passed, state};
use crate::gherkin::{RunEvent, RunResult};

/// Writes the places of what did not pass, what never ran among them.
pub struct Rerun {
    to: Target,
    /// Whether the run is a part of all: what others left on the list stays on it then.
    part: bool,
}

impl Rerun {
    /// Writes there.
    pub fn new(to: impl Into<Target>) -> Self {
        Self {
            to: to.into(),
            part: false,
        }
    }

    /// Leaves what did not run on the list.
    #[must_use]
    pub fn of_part(mut self, part: bool) -> Self {
        self.part = part;
        self
    }

    /// What stands on the list and is none of this run's.
    fn kept(&self, result: &RunResult) -> String {
        let ran: BTreeSet<String> = result
            .scenarios
            .iter()
            .map(|(scenario, _)| scenario.selector())
            .collect();
        let standing = fs::read_to_string(self.to.name()).unwrap_or_default();
        let mut kept = String::new();
        let mut remarks = String::new();
        for line in standing.lines() {
            if line.starts_with('#') {
                remarks = format!("{remarks}{line}\n");
            } else {
                if !line.trim().is_empty() && !ran.contains(line) {
                    let _ = writeln!(kept, "{remarks}{line}");
                }
                remarks.clear();
            }
        }
        kept
    }
}

impl Report for Rerun {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        let RunEvent::RunEnded { result } = event else {
            return Ok(());
        };
        let mut text = if self.part {
            self.kept(result)
        } else {
            String::new()
        };
        let mut listed = BTreeSet::new();
        for (scenario, outcome) in &result.scenarios {
            if !is_passed(outcome) && listed.insert(scenario.selector()) {
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
