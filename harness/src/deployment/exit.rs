//! How a process ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

/// How a process ended, as the kernel told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitOutcome {
    /// It ended by itself.
    Code(i32),
    /// A signal ended it. A number, because real-time signals have no name.
    Signal(i32),
    /// It is gone and the kernel kept no status, which happens only where SIGCHLD is
    /// ignored.
    Unknown,
}

impl ExitOutcome {
    /// Whether it ended by itself with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Whether this signal ended it.
    pub fn is_signal(self, signal: Signal) -> bool {
        self == Self::Signal(signal as i32)
    }
}

impl From<ExitStatus> for ExitOutcome {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for ExitOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(number) => match Signal::try_from(number) {
                Ok(signal) => write!(f, "was killed by {signal}"),
                Err(_) => write!(f, "was killed by signal {number}"),
            },
            Self::Unknown => f.write_str("is gone without an exit status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_says_what_a_person_would_say() {
        assert_eq!(
            ExitOutcome::from(ExitStatus::from_raw(3 << 8)).to_string(),
            "exited with code 3"
        );
        assert_eq!(
            ExitOutcome::from(ExitStatus::from_raw(9)).to_string(),
            "was killed by SIGKILL"
        );
        assert_eq!(
            ExitOutcome::from(ExitStatus::from_raw(40)).to_string(),
            "was killed by signal 40"
        );
    }
}
