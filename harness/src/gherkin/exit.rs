//! How a run ends, as its exit code. This is the only place where the codes stand.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How an invocation ends. The order is that of precedence: the greatest of all
/// scenarios' is the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// All that was asked for passed.
    Passed,
    /// A fault never landed, or nothing of the system was seen.
    Unproven,
    /// The harness or its environment failed.
    #[serde(rename = "error")]
    Broken,
    /// The system broke a promise.
    Failed,
    /// The request, a feature or the manifest is invalid.
    Invalid,
    /// Ctrl-C or SIGTERM.
    Interrupted,
}

impl Exit {
    /// Every way, in the order of the codes.
    pub const ALL: [Self; 6] = [
        Self::Passed,
        Self::Failed,
        Self::Invalid,
        Self::Broken,
        Self::Unproven,
        Self::Interrupted,
    ];

    /// The exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Invalid => 2,
            Self::Broken => 3,
            Self::Unproven => 4,
            Self::Interrupted => 130,
        }
    }

    /// What the code means, for the help.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Passed => "all selected scenarios passed",
            Self::Failed => "the system broke a promise",
            Self::Invalid => "the request, a feature or the manifest is invalid",
            Self::Broken => "the harness or its environment failed",
            Self::Unproven => "a fault never landed, or no call of the system was witnessed",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
            Self::Broken => "error",
            Self::Unproven => "unproven",
            Self::Interrupted => "interrupted",
        })
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruption_outranks_a_bad_request_a_broken_promise_a_broken_harness_and_no_proof() {
        let mut ways = Exit::ALL;
        ways.sort();
        ways.reverse();
        let codes: Vec<u8> = ways.iter().map(|exit| exit.code()).collect();
        assert_eq!(codes, [130, 2, 1, 3, 4, 0]);
    }
}
