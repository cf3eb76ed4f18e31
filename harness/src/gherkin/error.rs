//! What a step, or the opening of a world, can end with other than success. Three
//! things stay apart: the system broke its promise, the user asked for something
//! invalid, the harness or its environment failed.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One line of a comparison: a figure, what it should be, what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What is compared.
    pub name: String,
    /// What it should be.
    pub expected: String,
    /// What it was.
    pub seen: String,
}

impl Row {
    /// Compares two values as they print.
    pub fn new(
        name: impl Into<String>,
        expected: impl fmt::Display,
        seen: impl fmt::Display,
    ) -> Self {
        Self {
            name: name.into(),
            expected: expected.to_string(),
            seen: seen.to_string(),
        }
    }

    /// Whether both sides read the same.
    pub fn agrees(&self) -> bool {
        self.expected == self.seen
    }
}

/// Why a step did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The system broke its promise.
    #[error("{message}")]
    Failed {
        /// What was broken.
        message: String,
        /// Expected and seen, side by side. Rows that agree may be among them.
        rows: Vec<Row>,
        /// Sequence numbers of the entries of the history that show it.
        entries: Vec<u64>,
        /// Whether nothing more is known than that it did not come in time.
        late: bool,
    },
    /// Nothing was proven: a fault did not land, or nothing of the system was seen.
    #[error("{0}")]
    Unproven(String),
    /// The feature or the manifest asks for something that makes no sense.
    #[error("{message}")]
    Invalid {
        /// What makes no sense.
        message: String,
        /// How to mend it.
        help: Option<String>,
    },
    /// The harness or its environment failed.
    #[error(transparent)]
    Broken(Box<dyn Error + Send + Sync>),
}

impl StepError {
    /// The system broke its promise.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::differs(message, Vec::new())
    }

    /// The system did not do in time what it promised; nothing more is known.
    pub fn late(message: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            rows: Vec::new(),
            entries: Vec::new(),
            late: true,
        }
    }

    /// The system broke its promise, as these figures show.
    pub fn differs(message: impl Into<String>, rows: Vec<Row>) -> Self {
        Self::Failed {
            message: message.into(),
            rows,
            entries: Vec::new(),
            late: false,
        }
    }

    /// Nothing was proven.
    pub fn unproven(message: impl Into<String>) -> Self {
        Self::Unproven(message.into())
    }

    /// The user asked for something that makes no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
            help: None,
        }
    }

    /// The harness or its environment failed.
    pub fn broken(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Broken(error.into())
    }

    /// Adds which entries of the history show it. Only what was broken stands there.
    #[must_use]
    pub fn shown_by(self, shown: Vec<u64>) -> Self {
        match self {
            Self::Failed {
                message,
                rows,
                late,
                ..
            } => Self::Failed {
                message,
                rows,
                late,
                entries: shown,
            },
            other => other,
        }
    }

    /// Adds how to mend it. Only an invalid request can be mended by its author.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        match self {
            Self::Invalid { message, .. } => Self::Invalid {
                message,
                help: Some(help.into()),
            },
            other => other,
        }
    }
}

/// An error with all that caused it and is not told yet, in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start `worker`")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_broken_step_tells_all_its_causes() {
        let inner = std::io::Error::other("port 8081 is in use");
        let error = StepError::broken(Outer(inner));
        assert_eq!(chain(&error), "cannot start `worker`: port 8081 is in use");
    }
}
