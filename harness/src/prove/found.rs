//! What one try of a variant came to, by facts alone.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::variant::Mark;
use crate::gherkin::{Exit, ScenarioOutcome};

/// What a red scenario rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Seen {
    /// A rule.
    Rule {
        /// Which.
        rule: String,
        /// What was found.
        told: String,
    },
    /// An expectation of the scenario.
    Suite {
        /// What was found.
        told: String,
    },
    /// Something that did not come in time, alone.
    Late {
        /// What.
        told: String,
    },
}

/// What one try came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The scenario's verdict.
    pub verdict: Exit,
    /// What speaks against the system, if it failed.
    pub seen: Option<Seen>,
    /// What speaks against anything else, if it did not pass.
    pub told: Option<String>,
}

impl Found {
    /// What an outcome comes to.
    pub fn of(outcome: &ScenarioOutcome) -> Self {
        let verdict = if outcome.ran {
            outcome.verdict
        } else {
            Exit::Interrupted
        };
        let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        let against = || {
            let evidence = outcome.evidence.iter();
            evidence.filter(|one| one.verdict == Exit::Failed)
        };
        let rule = against().find_map(|one| {
            Some(Seen::Rule {
                rule: one.rule.clone()?,
                told: first_line(&one.message),
            })
        });
        let expectation = || {
            let one = against().find(|one| !one.late)?;
            let mut told = first_line(&one.message);
            for row in one.rows.iter().filter(|row| !row.agrees()) {
                let _ = write!(
                    told,
                    "; {}: {} expected, {} seen",
                    row.name, row.expected, row.seen
                );
            }
            Some(Seen::Suite { told })
        };
        let late = || {
            let told = first_line(&against().next()?.message);
            Some(Seen::Late { told })
        };
        let seen = (verdict == Exit::Failed)
            .then(|| rule.or_else(expectation).or_else(late))
            .flatten();
        let told = outcome.cause().map(|one| first_line(&one.message));
        Self {
            verdict,
            seen,
            told: told.filter(|_| seen_is_none(verdict)),
        }
    }

    /// What it makes of a change that breaks the system.
    pub fn mark(&self) -> Mark {
        match (&self.seen, self.verdict) {
            (Some(Seen::Rule { .. }), _) => Mark::SeenByRule,
            (Some(Seen::Suite { .. }), _) => Mark::Seen,
            (Some(Seen::Late { .. }), _) => Mark::Late,
            (None, Exit::Invalid | Exit::Interrupted) => Mark::Untold,
            (None, _) => Mark::Unseen,
        }
    }

    /// What it makes of something that was left out of a scenario.
    pub fn mark_of_control(&self) -> Mark {
        match self.verdict {
            Exit::Passed => Mark::DecidesNothing,
            Exit::Failed | Exit::Unproven => Mark::Decides,
            // The harness could not tell, or was not asked to the end.
            _ => Mark::Untold,
        }
    }
}

fn seen_is_none(verdict: Exit) -> bool {
    !matches!(verdict, Exit::Passed | Exit::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gherkin::Evidence;

    fn found(evidence: &[Evidence]) -> Found {
        let mut outcome = ScenarioOutcome {
            ran: true,
            ..ScenarioOutcome::left_out()
        };
        let verdicts = evidence.iter().map(|one| one.verdict);
        outcome.verdict = verdicts.max().unwrap_or(Exit::Passed);
        outcome.evidence = evidence.to_vec();
        Found::of(&outcome)
    }

    fn late() -> Evidence {
        Evidence {
            late: true,
            ..Evidence::new(Exit::Failed, "not quiet")
        }
    }

    #[test]
    fn a_rule_outweighs_an_expectation_and_that_a_time_out() {
        let differs = Evidence::new(Exit::Failed, "the totals differ");
        let broken = Evidence::new(Exit::Failed, "twice").with_rule("once");
        assert_eq!(found(&[late()]).mark(), Mark::Late);
        assert_eq!(found(&[late(), differs.clone()]).mark(), Mark::Seen);
        let all = found(&[late(), differs, broken]);
        assert_eq!(all.mark(), Mark::SeenByRule);
        assert!(matches!(all.seen, Some(Seen::Rule { rule, .. }) if rule == "once"));
    }

    #[test]
    fn what_is_unproven_or_green_sees_nothing() {
        assert_eq!(found(&[]).mark(), Mark::Unseen);
        let unproven = Evidence::new(Exit::Unproven, "never landed");
        assert_eq!(found(&[unproven]).mark(), Mark::Unseen);
        let broken = Evidence::new(Exit::Broken, "no disk");
        assert_eq!(found(std::slice::from_ref(&broken)).mark(), Mark::Unseen);
        assert_eq!(found(&[broken]).mark_of_control(), Mark::Untold);
        assert_eq!(found(&[]).mark_of_control(), Mark::DecidesNothing);
        assert_eq!(found(&[late()]).mark_of_control(), Mark::Decides);
    }
}
