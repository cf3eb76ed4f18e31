//! What one try of a variant came to, by facts alone.

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
                told += &format!(
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
