//! The list of accepted points that a release gate compares with.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::mark::Mark;
use super::results::Outcome;
use crate::accepted::{self, AcceptedError};

/// What was accepted, in the order of points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// By effect, process and place: what became of the system there.
    pub points: BTreeMap<String, Mark>,
}

impl Accepted {
    /// What an exploration found, as a list to compare with later.
    pub fn of(outcomes: &[Outcome]) -> Self {
        // Which pairs are tried is chance.
        let points = outcomes
            .iter()
            .filter(|outcome| outcome.point.then.is_none() || outcome.mark.is_failure());
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
        accepted::read(path, "points")
    }

    /// Writes the list.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), AcceptedError> {
        accepted::write(self, path)
    }

    /// What is worse than what was accepted: new failures, points without a proof, points
    /// that are gone.
    pub fn regressions(&self, found: &Self) -> Vec<String> {
        let mut regressions = Vec::new();
        for (point, mark) in &found.points {
            let accepted = self.points.get(point);
            let well = matches!(mark, Mark::Survived | Mark::Unreached);
            if !well && accepted != Some(mark) {
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
