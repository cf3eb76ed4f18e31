//! The list of accepted points that a release gate compares with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::effect::Strike;
use super::mark::Mark;
use super::point::{Plan, Point};
use super::results::Outcome;
use crate::accepted::{self, AcceptedError};
use crate::ids::RoleName;

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

    /// Only the points of these effects and processes; of no processes: of all.
    #[must_use]
    pub fn only(&self, strikes: &[Strike], processes: &[RoleName]) -> Self {
        let asked = |point: &&String| {
            strikes.iter().any(|strike| {
                let rest = point.strip_prefix(strike.name());
                rest.and_then(|rest| rest.strip_prefix(' '))
                    .is_some_and(|rest| {
                        let own = |process: &RoleName| {
                            let rest = rest.strip_prefix(process.as_str());
                            rest.is_some_and(|rest| rest.starts_with(' '))
                        };
                        processes.is_empty() || processes.iter().any(own)
                    })
            })
        };
        let points = self.points.iter().filter(|(point, _)| asked(point));
        Self {
            points: points.map(|(point, mark)| (point.clone(), *mark)).collect(),
        }
    }

    /// What is worse than what was accepted: new failures, points without a proof, points
    /// that are gone. What stands in the plan and was not tried is left to another `share`, if
    /// this is one.
    pub fn regressions(&self, found: &Self, plan: &Plan, share: bool) -> Vec<String> {
        let planned: BTreeSet<String> = plan.points.iter().map(Point::key).collect();
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
            if found.points.contains_key(point) {
                continue;
            }
            // Which pairs are tried is chance.
            let pair = point.contains(", and ");
            match planned.contains(point) {
                true if share || pair => {}
                true => regressions.push(format!("{point}: not tried, accepted as {mark}")),
                false if pair => {}
                false => {
                    regressions.push(format!("{point}: no longer a point, accepted as {mark}"));
                }
            }
        }
        regressions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::{Boundary, Class};
    use crate::tap::Side;

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
        let none = Plan::default();
        assert!(accepted.regressions(&accepted, &none, false).is_empty());
        let mended = list(&[("a", Mark::Survived), ("b", Mark::Survived)]);
        assert!(accepted.regressions(&mended, &none, false).is_empty());
    }

    #[test]
    fn a_new_failure_and_a_point_that_is_gone_are_regressions() {
        let accepted = list(&[("a", Mark::Survived), ("b", Mark::Survived)]);
        let found = list(&[("a", Mark::Twice), ("c", Mark::Unproven)]);
        assert_eq!(
            accepted.regressions(&found, &Plan::default(), false),
            [
                "a: twice, accepted as survived",
                "c: unproven, a new point",
                "b: no longer a point, accepted as survived",
            ]
        );
    }

    #[test]
    fn only_what_was_asked_for_is_compared() {
        let place = "worker before \"begin\" of M1";
        let accepted = list(&[
            (&format!("kill {place}"), Mark::Survived),
            (&format!("lost-reply {place}"), Mark::Survived),
            ("kill worker-2 after \"begin\" of M1", Mark::Survived),
        ]);
        let keys = |strikes: &[Strike], processes: &[RoleName]| -> Vec<String> {
            accepted
                .only(strikes, processes)
                .points
                .into_keys()
                .collect()
        };
        assert_eq!(keys(&Strike::ALL, &[]).len(), 3);
        assert_eq!(keys(&[Strike::Kill], &[]).len(), 2);
        let one = keys(&[Strike::Kill], &[RoleName::new("worker")]);
        assert_eq!(one, [format!("kill {place}")]);
    }

    #[test]
    fn a_point_that_was_not_tried_is_another_share_or_a_drop_of_coverage() {
        let boundary = Boundary {
            process: "worker".into(),
            side: Side::Before,
            call: "begin".to_owned(),
            nth: 1,
            message: Some("M1".into()),
        };
        let point = Point {
            class: Class {
                boundary,
                merged: Vec::new(),
            },
            strike: Strike::Kill,
            every: false,
            then: None,
        };
        let accepted = list(&[(&point.key(), Mark::Survived)]);
        let plan = Plan {
            points: vec![point.clone()],
            ..Plan::default()
        };
        let nothing = Accepted::default();
        assert!(accepted.regressions(&nothing, &plan, true).is_empty());
        let told = accepted.regressions(&nothing, &plan, false);
        assert_eq!(
            told,
            [format!("{}: not tried, accepted as survived", point.key())]
        );
    }
}
