//! The list of accepted points that a release gate compares with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::mark::Mark;
use super::results::Outcome;

/// What was accepted, in the order of points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// By effect, process and place: what became of the system there.
    pub points: BTreeMap<String, Mark>,
}

/// The list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AcceptedError {
    /// The file cannot be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It holds something else.
    #[error("{}:{line} is no list of accepted points: {reason}", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Why.
        reason: String,
    },
}

impl Accepted {
    /// What an exploration found, as a list to compare with later.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let points = outcomes.iter();
        Self {
            points: points
                .map(|outcome| (outcome.point.key(), outcome.mark))
                .collect(),
        }
    }

    /// Reads a list.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(path: &Path) -> Result<Self, AcceptedError> {
        let text = fs::read_to_string(path).map_err(|source| AcceptedError::File {
            what: "read",
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|error| AcceptedError::Content {
            path: path.to_owned(),
            line: error.line(),
            reason: error.to_string(),
        })
    }

    /// Writes the list.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), AcceptedError> {
        let mut text = serde_json::to_string_pretty(self).expect("a list is plain data");
        text.push('\n');
        fs::write(path, text).map_err(|source| AcceptedError::File {
            what: "write",
            path: path.to_owned(),
            source,
        })
    }

    /// What is worse than what was accepted: new failures, points without a proof, points
    /// that are gone.
    pub fn regressions(&self, found: &Self) -> Vec<String> {
        let mut regressions = Vec::new();
        for (point, mark) in &found.points {
            let accepted = self.points.get(point);
            if *mark != Mark::Survived && accepted != Some(mark) {
                let before = accepted.map_or_else(
                    || "a new point".to_owned(),
                    |accepted| format!("accepted as {accepted}"),
                );
                regressions.push(format!("{point}: {mark}, {before}"));
            }
        }
        for (point, mark) in &self.points {
            if !found.points.contains_key(point) {
                regressions.push(format!("{point}: no longer a point, accepted as {mark}"));
            }
        }
        regressions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(points: &[(&str, Mark)]) -> Accepted {
        let points = points.iter();
        Accepted {
            points: points
                .map(|(point, mark)| ((*point).to_owned(), *mark))
                .collect(),
        }
    }

    #[test]
    fn what_was_accepted_is_no_regression() {
        let accepted = list(&[("a", Mark::Survived), ("b", Mark::Lost)]);
        assert!(accepted.regressions(&accepted).is_empty());
        let mended = list(&[("a", Mark::Survived), ("b", Mark::Survived)]);
        assert!(accepted.regressions(&mended).is_empty());
    }

    #[test]
    fn a_new_failure_and_a_point_that_is_gone_are_regressions() {
        let accepted = list(&[("a", Mark::Survived), ("b", Mark::Survived)]);
        let found = list(&[("a", Mark::Twice), ("c", Mark::Unproven)]);
        assert_eq!(
            accepted.regressions(&found),
            [
                "a: twice, accepted as survived",
                "c: unproven, a new point",
                "b: no longer a point, accepted as survived",
            ]
        );
    }
}
