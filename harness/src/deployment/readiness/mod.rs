//! When a process counts as ready: one strategy a file, one deadline and one error for
//! all.

mod condition;
mod http;
mod listening;
mod output;
mod patience;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

pub use condition::{Condition, Seen};
pub use http::{ANSWERED, http};
pub use listening::listening;
pub use output::output;
pub use patience::at_most;

use super::child::Child;
use super::exit::ExitOutcome;

/// How many of the last lines of output an error shows.
const LINES: usize = 10;

/// Waits until `condition` holds: for `within`, and as long as the process is busy after that,
/// up to `at_most`.
///
/// # Errors
/// When it does not in that time, or the process dies first.
pub async fn ready(
    child: &Child,
    within: Duration,
    at_most: Duration,
    condition: Condition,
) -> Result<(), NotReady> {
    let Condition {
        expected,
        seen,
        holds,
    } = condition;
    let cause = tokio::select! {
        biased;
        // First, so that a stranger's answer on its port is not taken for its own.
        outcome = child.exited() => Cause::Died(outcome),
        () = holds => return Ok(()),
        waited = patience::too_late(child, within, at_most) => Cause::TooLate { within, waited },
    };
    Err(NotReady {
        name: child.name().to_owned(),
        cause,
        expected,
        seen: seen.last(),
        output: child.logs().last_lines(LINES),
        logs: child.logs().paths().map(PathBuf::from).collect(),
    })
}

/// Why a process did not become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It ended.
    Died(ExitOutcome),
    /// It took longer than this.
    TooLate {
        /// The limit.
        within: Duration,
        /// How long it was waited for, as it got on for a while.
        waited: Duration,
    },
}

/// A process did not become ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// Which process.
    pub name: String,
    /// Why.
    pub cause: Cause,
    /// What would have made it ready.
    pub expected: String,
    /// What was seen last instead.
    pub seen: Option<String>,
    /// Its last lines of output.
    pub output: Vec<String>,
    /// Where all of its output is.
    pub logs: Vec<PathBuf>,
}

impl std::error::Error for NotReady {}

impl std::fmt::Display for NotReady {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.name;
        match self.cause {
            Cause::Died(outcome) => write!(f, "`{name}` {outcome} before it was ready")?,
            Cause::TooLate { within, .. } => {
                write!(f, "`{name}` was not ready within {within:?}")?;
            }
        }
        write!(
            f,
            ": expected {}, saw {}",
            self.expected,
            self.seen.as_deref().unwrap_or("nothing")
        )?;
        if let Cause::TooLate { within, waited } = self.cause
            && waited > within
        {
            write!(
                f,
                "; it was waited for {:.0} s in all, as long as it computed or wrote something",
                waited.as_secs_f64()
            )?;
        }
        let mut logs = String::new();
        for path in &self.logs {
            write!(
                logs,
                "{}{}",
                if logs.is_empty() { "" } else { " and " },
                path.display()
            )?;
        }
        if self.output.is_empty() {
            return write!(f, "\nit wrote nothing to {logs}");
        }
        write!(f, "\nthe end of its output ({logs}):")?;
        for line in &self.output {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}
