//! How a scenario ended, with the evidence.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::{Row, StepError, chain};
use super::exit::Exit;

/// One thing that speaks against a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it makes of the scenario.
    pub verdict: Exit,
    /// What happened, in a sentence or a few lines.
    pub message: String,
    /// Expected and seen, side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// The rule that was broken, which holds whatever a scenario expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Whether nothing more is known than that something did not come in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// How to mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Sequence numbers of the entries of the history that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<u64>,
    /// The step during which it happened, by its position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
}

impl Evidence {
    /// Evidence without figures.
    pub fn new(verdict: Exit, message: impl Into<String>) -> Self {
        Self {
            verdict,
            message: message.into(),
            rows: Vec::new(),
            rule: None,
            late: false,
            help: None,
            entries: Vec::new(),
            step: None,
        }
    }

    /// Adds expected and seen.
    #[must_use]
    pub fn with_rows(mut self, rows: Vec<Row>) -> Self {
        self.rows = rows;
        self
    }

    /// Adds which entries of the history show it.
    #[must_use]
    pub fn shown_by(mut self, entries: Vec<u64>) -> Self {
        self.entries = entries;
        self
    }

    /// Names the rule that was broken.
    #[must_use]
    pub fn with_rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    pub(super) fn at(mut self, step: Option<usize>) -> Self {
        self.step = step;
        self
    }
}

impl From<StepError> for Evidence {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Failed {
                message,
                rows,
                entries,
                late,
            } => Self {
                late,
                ..Self::new(Exit::Failed, message)
                    .with_rows(rows)
                    .shown_by(entries)
            },
            StepError::Unproven(message) => Self::new(Exit::Unproven, message),
            StepError::Invalid { message, help } => Self {
                help,
                ..Self::new(Exit::Invalid, message)
            },
            StepError::Broken(error) => Self::new(Exit::Broken, chain(error.as_ref())),
        }
    }
}

/// Something that is worth a word and speaks against nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What happened, in a sentence.
    pub message: String,
    /// Sequence numbers of the entries of the history that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<u64>,
}

/// A figure of a scenario: `completed` 4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// What was counted.
    pub name: String,
    /// The value as it prints.
    pub value: String,
}

impl Figure {
    /// A figure.
    pub fn new(name: impl Into<String>, value: impl std::fmt::Display) -> Self {
        Self {
            name: name.into(),
            value: value.to_string(),
        }
    }
}

/// How one step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Keyword and text.
    pub text: String,
    /// The line of the feature.
    pub line: usize,
    /// How it ended; nothing if it did not run.
    pub exit: Option<Exit>,
    /// How long it took.
    #[serde(serialize_with = "seconds", deserialize_with = "from_seconds")]
    pub took: Duration,
}

/// How a scenario ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioOutcome {
    /// The verdict: the gravest of the evidence.
    pub verdict: Exit,
    /// Whether it ran at all. An interrupted run leaves scenarios out.
    pub ran: bool,
    /// What speaks against it, in the order in which it came up.
    pub evidence: Vec<Evidence>,
    /// What is worth a word, whatever the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Its steps.
    pub steps: Vec<StepRecord>,
    /// Its key figures.
    pub figures: Vec<Figure>,
    /// Its history, if it wrote one.
    pub history: Option<PathBuf>,
    /// The lines of its history that show what speaks against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excerpt: Vec<String>,
    /// How long it took.
    #[serde(serialize_with = "seconds", deserialize_with = "from_seconds")]
    pub took: Duration,
}

impl ScenarioOutcome {
    pub(super) fn begun(steps: Vec<StepRecord>) -> Self {
        Self {
            verdict: Exit::Passed,
            ran: true,
            evidence: Vec::new(),
            warnings: Vec::new(),
            steps,
            figures: Vec::new(),
            history: None,
            excerpt: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// One that never ran.
    pub(crate) fn left_out() -> Self {
        Self {
            verdict: Exit::Interrupted,
            ran: false,
            ..Self::begun(Vec::new())
        }
    }

    /// Adds what speaks against it.
    pub(super) fn add(&mut self, evidence: Evidence) {
        self.verdict = self.verdict.max(evidence.verdict);
        self.evidence.push(evidence);
    }

    /// Takes back what was found against the system so far: it may rest on what was not
    /// seen.
    pub(super) fn doubt(&mut self) {
        for evidence in &mut self.evidence {
            if evidence.verdict == Exit::Failed {
                evidence.verdict = Exit::Broken;
            }
        }
        let gravest = self.evidence.iter().map(|evidence| evidence.verdict).max();
        self.verdict = gravest.unwrap_or(Exit::Passed);
    }

    /// Makes nothing of what was found about the system: what is known is not whole, so it
    /// convicts nobody.
    pub(super) fn void(&mut self, reason: String) {
        self.evidence.insert(0, Evidence::new(Exit::Broken, reason));
        self.verdict = Exit::Broken;
        for evidence in &mut self.evidence {
            if matches!(evidence.verdict, Exit::Failed | Exit::Unproven) {
                evidence.verdict = Exit::Broken;
            }
            self.verdict = self.verdict.max(evidence.verdict);
        }
    }

    /// The gravest evidence.
    pub fn cause(&self) -> Option<&Evidence> {
        self.evidence
            .iter()
            .find(|evidence| evidence.verdict == self.verdict)
    }
}

/// What a world says when it is closed.
#[derive(Clone, Debug, Default)]
pub struct Closing {
    /// What it found at the end: broken invariants, faults that never landed.
    pub evidence: Vec<Evidence>,
    /// What is worth a word, whatever the verdict.
    pub warnings: Vec<Warning>,
    /// The key figures of the scenario.
    pub figures: Vec<Figure>,
    /// Where the history is.
    pub history: Option<PathBuf>,
    /// The lines of the history that show what speaks against the scenario.
    pub excerpt: Vec<String>,
    /// Whether what the steps found may rest on what was not seen: it convicts nobody then.
    pub doubted: bool,
    /// Why nothing that was found says anything about the system.
    pub void: Option<String>,
}

impl Closing {
    /// Nothing to add.
    pub fn quiet() -> Self {
        Self::default()
    }

    /// Adds what speaks against the scenario.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    /// Adds what is worth a word.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Vec<Warning>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Adds a key figure.
    #[must_use]
    pub fn with_figure(mut self, name: impl Into<String>, value: impl std::fmt::Display) -> Self {
        self.figures.push(Figure::new(name, value));
        self
    }

    /// Says that what the steps found may rest on what was not seen.
    #[must_use]
    pub fn doubted(mut self, doubted: bool) -> Self {
        self.doubted = doubted;
        self
    }

    /// Says that what was found says nothing about the system, and why.
    #[must_use]
    pub fn voided(mut self, reason: Option<String>) -> Self {
        self.void = reason;
        self
    }

    /// Adds the lines of the history that show what speaks against the scenario.
    #[must_use]
    pub fn with_excerpt(mut self, excerpt: Vec<String>) -> Self {
        self.excerpt = excerpt;
        self
    }

    /// Says where the history is.
    #[must_use]
    pub fn with_history(mut self, path: impl Into<PathBuf>) -> Self {
        self.history = Some(path.into());
        self
    }
}

/// Durations as they stand in reports.
pub(crate) fn from_seconds<'d, D: serde::Deserializer<'d>>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}

/// Durations stand in reports as seconds.
pub(crate) fn seconds<S: serde::Serializer>(
    took: &Duration,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((took.as_secs_f64() * 1e6).round() / 1e6)
}
