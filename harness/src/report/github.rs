//! Annotations of GitHub Actions: each scenario that did not pass, and each warning, at its line.

use std::io::Write;

use super::{Report, ReportError};
use crate::gherkin::{Exit, RunEvent, RunResult};

/// Writes workflow commands, which the runner reads from the output of a step.
pub struct Annotations<W> {
    to: W,
}

impl<W: Write + Send> Annotations<W> {
    /// Writes there.
    pub fn new(to: W) -> Self {
        Self { to }
    }

    fn tell(&mut self, result: &RunResult) -> std::io::Result<()> {
        for evidence in &result.evidence {
            writeln!(
                self.to,
                "::error title={}::{}",
                property("rehearsal"),
                data(&evidence.message)
            )?;
        }
        for (scenario, outcome) in &result.scenarios {
            for warning in &outcome.warnings {
                writeln!(
                    self.to,
                    "::warning file={},line={},title={}::{}",
                    property(&scenario.path),
                    scenario.line,
                    property(&scenario.name),
                    data(&warning.message)
                )?;
            }
            if !outcome.ran || outcome.verdict == Exit::Passed {
                continue;
            }
            let cause = outcome.cause();
            let step = cause
                .and_then(|cause| cause.step)
                .and_then(|step| outcome.steps.get(step));
            let line = step.map_or(scenario.line, |step| step.line);
            let message = cause.map_or("", |cause| cause.message.as_str());
            writeln!(
                self.to,
                "::error file={},line={line},title={}::{}",
                property(&scenario.path),
                property(&format!("{}: {}", outcome.verdict, scenario.name)),
                data(message)
            )?;
        }
        self.to.flush()
    }
}

/// As the runner reads a property back.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// As the runner reads a message back.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

impl<W: Write + Send> Report for Annotations<W> {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        match event {
            RunEvent::RunEnded { result } => Ok(self.tell(result)?),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(property("a,b: 5 %"), "a%2Cb%3A 5 %25");
        assert_eq!(data("two\nlines: kept"), "two%0Alines: kept");
    }
}
