//! What became of the system at a point.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::difference::Difference;
use super::trial::Trial;
use crate::gherkin::Exit;
use crate::judge::{Finding, Violation};

/// The rule that nobody dies whom no fault killed.
const UNASKED: &str = "no process dies unasked";

/// What became of the system at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// All that is durable is as it is without faults, or as the manifest allows.
    Survived,
    /// The second fault of a pair was never reached: behind the first nobody passes there.
    Unreached,
    /// The fault did not land: nothing is proven.
    Unproven,
    /// The harness or its environment failed, or could not tell.
    Error,
    /// Something that should be durable is missing.
    Lost,
    /// Something was done more often than it should have been.
    Twice,
    /// The system does not come to rest, or leaves something behind in a queue.
    Stuck,
    /// What is durable differs in another way, or a rule of the judge was broken.
    WrongEnd,
}

impl Mark {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Self::Survived => "survived",
            Self::Unreached => "never met",
            Self::Unproven => "unproven",
            Self::Error => "error",
            Self::Lost => "lost",
            Self::Twice => "twice",
            Self::Stuck => "stuck",
            Self::WrongEnd => "wrong end",
        }
    }

    /// What it means of a system to which nothing was done.
    pub(crate) fn without_faults(self) -> &'static str {
        match self {
            Self::Survived | Self::Unreached => "does what it should",
            Self::Unproven => "shows too little",
            Self::Error => "cannot be watched",
            Self::Stuck => "does not come to rest",
            Self::Lost | Self::Twice | Self::WrongEnd => "breaks a promise already",
        }
    }

    /// Whether the system broke a promise there.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Lost | Self::Twice | Self::Stuck | Self::WrongEnd
        )
    }

    /// How a run with this mark exits.
    pub fn exit(self) -> Exit {
        match self {
            Self::Survived | Self::Unreached => Exit::Passed,
            Self::Unproven => Exit::Unproven,
            Self::Error => Exit::Broken,
            Self::Lost | Self::Twice | Self::Stuck | Self::WrongEnd => Exit::Failed,
        }
    }

    /// What the system should have done, in a sentence.
    pub fn rule(self) -> Option<&'static str> {
        match self {
            Self::Survived | Self::Unreached | Self::Unproven | Self::Error => None,
            Self::Lost => Some(
                "whatever is accepted must be durable before its source is told that it is done",
            ),
            Self::Twice => Some(
                "what cannot be undone needs a durable intent, or a key by which its receiver knows it, before it is repeated",
            ),
            Self::Stuck => Some("what was begun must be taken up again by whoever comes next"),
            Self::WrongEnd => Some("a repetition must come to the same end as a first attempt"),
        }
    }

    /// The mark of a rehearsal, with its reasons.
    pub(crate) fn of(trial: &Trial, differences: &[Difference]) -> (Self, Vec<String>) {
        let judgement = &trial.judgement;
        // What becomes of messages counts: a process that ends at an error, and is started
        // again, may be as right as one that goes on.
        let violations = || {
            let all = judgement.violations.iter();
            all.filter(|violation| !(trial.struck && violation.invariant == UNASKED))
        };
        let broken: Vec<String> = violations()
            .map(|violation| format!("{}: {}", violation.invariant, violation.text))
            .collect();
        if !judgement.errors.is_empty() {
            return (Self::Error, texts(&judgement.errors));
        }
        // What never landed convicts nobody.
        if !judgement.unproven.is_empty() {
            return (Self::Unproven, texts(&judgement.unproven));
        }
        let mut reasons = broken;
        reasons.extend(differences.iter().map(ToString::to_string));
        if let Some(unrest) = &trial.unrest {
            reasons.push(unrest.text.clone());
            // Who is struck every time and never given up is tried for ever.
            let mark = if unrest.own_doing && !trial.for_ever {
                Self::Unproven
            } else {
                Self::Stuck
            };
            return (mark, reasons);
        }
        let mut marks: Vec<Self> = violations().map(by_rule).collect();
        marks.extend(differences.iter().map(Difference::mark));
        (Self::gravest(&marks).unwrap_or(Self::Survived), reasons)
    }

    /// The failure that says most: what is missing outweighs what is there too often, and
    /// what lies in a queue although all else is as it should be comes last.
    pub(super) fn gravest(marks: &[Self]) -> Option<Self> {
        let order = [Self::Lost, Self::Twice, Self::WrongEnd, Self::Stuck];
        order.into_iter().find(|mark| marks.contains(mark))
    }
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

fn by_rule(violation: &Violation) -> Mark {
    match violation.invariant {
        "nothing is lost" | "deleted only after a durable end" => Mark::Lost,
        "the outside write happens once" => Mark::Twice,
        _ => Mark::WrongEnd,
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
