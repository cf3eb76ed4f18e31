//! From a history to a verdict.

mod deaths;

use std::collections::{BTreeMap, BTreeSet};

use super::totals::last_counted;
use super::{COPIES, Evidence, Finding, Ground, Ledger, Violation, invariant, sight};
use crate::history::{DeathCause, Entry, Event};
use crate::ids::{FaultId, MessageName};

/// What a rehearsal proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every promise was kept.
    Passed,
    /// A promise was broken.
    Failed,
    /// The harness or its environment failed, or could not tell.
    Error,
    /// A fault never landed, or no call of the system was witnessed.
    Unproven,
}

impl Verdict {
    /// The gravest of what was found. A doubt about the harness's own sight outweighs what
    /// was broken only by something that was not seen.
    pub(super) fn of(judgement: &Judgement) -> Self {
        let Judgement {
            violations,
            errors,
            doubts,
            unproven,
            ..
        } = judgement;
        let stands =
            |violation: &Violation| doubts.is_empty() || violation.ground() == Ground::Seen;
        if violations.iter().any(stands) {
            Self::Failed
        } else if !errors.is_empty() {
            Self::Error
        } else if unproven.is_empty() {
            Self::Passed
        } else {
            Self::Unproven
        }
    }
}

/// A fault's record in the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// In words.
    pub text: String,
    /// How many times it must land.
    pub expected: u32,
    /// How many times it landed.
    pub landed: u32,
    /// Why it missed, each time.
    pub missed: Vec<String>,
    /// How many times its trigger was met.
    pub triggered: u32,
    /// Where it was armed, triggered and missed.
    pub entries: Vec<u64>,
}

impl Fault {
    /// Whether everything that was ordered of it was seen to happen.
    fn is_proven(&self) -> bool {
        self.landed >= self.expected && self.landed >= self.triggered && self.missed.is_empty()
    }
}

/// A verdict with its reasons.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// What it comes to.
    pub verdict: Verdict,
    /// Broken promises.
    pub violations: Vec<Violation>,
    /// What the harness could not do, or could not tell.
    pub errors: Vec<Finding>,
    /// Those of them that doubt its own sight: something was seen and cannot be named, or the
    /// manifest contradicts what was seen.
    pub doubts: Vec<Finding>,
    /// What was not proven.
    pub unproven: Vec<Finding>,
    /// What is worth a word although the system may be right: it changes no verdict.
    pub warnings: Vec<Violation>,
    /// All faults.
    pub faults: BTreeMap<FaultId, Fault>,
}

/// Judges a whole history. A broken promise outweighs what the harness could not do, and
/// that outweighs what was not proven. A doubt about the harness's own sight outweighs a
/// promise that seems broken because something was not seen.
pub fn judge(evidence: Evidence<'_>) -> Judgement {
    judge_by(evidence, &Ledger::of(evidence))
}

/// Like [`judge`], by a ledger that has read all of it.
pub(crate) fn judge_by(evidence: Evidence<'_>, ledger: &Ledger) -> Judgement {
    let mut violations = invariant::violations(evidence, ledger);
    let deaths = deaths::unexpected(evidence);
    violations.extend(deaths.violations);
    let contradictions = contradictions(evidence, &violations);
    violations.extend(contradictions);
    let shown = sight::doubts(evidence, ledger);
    let doubts = noted(evidence, true).chain(shown.iter().cloned()).collect();
    let mut errors: Vec<Finding> = noted(evidence, false).chain(shown).collect();
    errors.extend(deaths.errors);
    let faults = faults(evidence);
    let mut unproven: Vec<Finding> = faults
        .values()
        .filter(|fault| !fault.is_proven())
        .map(|fault| {
            let mut text = format!(
                "`{}` landed {} of {} times",
                fault.text,
                fault.landed,
                fault.expected.max(fault.triggered)
            );
            for reason in &fault.missed {
                text.push_str("; ");
                text.push_str(reason);
            }
            Finding::shown(text, fault.entries.clone())
        })
        .collect();
    unproven.extend(announced_without_death(evidence));
    let witnessed = evidence.entries.iter().any(|entry| {
        matches!(&entry.event, Event::Called { author, .. } if author.incarnation().is_some())
    });
    if !witnessed {
        unproven.push(Finding::new("no call of the system was witnessed"));
    }
    unproven.extend(never_submitted(evidence));
    let mut judgement = Judgement {
        verdict: Verdict::Passed,
        violations,
        errors,
        doubts,
        unproven,
        warnings: invariant::warnings(evidence, ledger),
        faults,
    };
    judgement.verdict = Verdict::of(&judgement);
    judgement
}

/// Messages that were declared and never came into the system: nothing is proven of them.
fn never_submitted(evidence: Evidence<'_>) -> Vec<Finding> {
    let submitted = submitted(evidence.entries);
    if submitted.is_empty() {
        return vec![Finding::new("no message was submitted")];
    }
    let declared: BTreeMap<&MessageName, u64> = evidence
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Declared { message, .. } => Some((message, entry.seq)),
            _ => None,
        })
        .collect();
    declared
        .into_iter()
        .filter(|(message, _)| !submitted.contains(message))
        .map(|(message, seq)| Finding::shown(format!("{message} was never submitted"), vec![seq]))
        .collect()
}

/// The messages that came in: from their client, or past it on a queue.
pub fn submitted(entries: &[Entry]) -> BTreeSet<&MessageName> {
    entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Submitting { message }
            | Event::Sent {
                message: Some(message),
                ..
            }
            | Event::Delivered {
                message: Some(message),
                ..
            } => Some(message),
            _ => None,
        })
        .collect()
}

/// The rule that a total's witness and the system's claim agree.
pub(super) const CONTRADICTED: &str = "the system tells what was witnessed";

/// A total's witness and the system's claim must agree.
fn contradictions(evidence: Evidence<'_>, told: &[Violation]) -> Vec<Violation> {
    let mut violations = Vec::new();
    // What is missing was told by name.
    let is_told = |total: &str, at: u64| {
        total == COPIES
            && told
                .iter()
                .any(|violation| violation.evidence.contains(&at))
    };
    for (total, sources) in last_counted(evidence) {
        let (Some(witness), Some(claim)) = (sources.get("witness"), sources.get("claim")) else {
            continue;
        };
        let labels: BTreeSet<&&str> = witness.keys().chain(claim.keys()).collect();
        for label in labels {
            let (seen, at) = witness.get(*label).copied().unwrap_or_default();
            let (claimed, by) = claim.get(*label).copied().unwrap_or_default();
            if seen != claimed && !is_told(total, by) {
                let of = if label.is_empty() {
                    String::new()
                } else {
                    format!(" ({label})")
                };
                violations.push(Violation {
                    invariant: CONTRADICTED,
                    text: format!("{total}{of}: witnessed {seen}, the system says {claimed}"),
                    evidence: [at, by].into_iter().filter(|seq| *seq > 0).collect(),
                });
            }
        }
    }
    violations
}

/// What the harness noted that it could not tell, and, unless doubts alone are asked for,
/// what it could not do.
fn noted(evidence: Evidence<'_>, doubts: bool) -> impl Iterator<Item = Finding> {
    evidence
        .entries
        .iter()
        .filter_map(move |entry| match &entry.event {
            Event::Doubt { reason } => Some(Finding::shown(reason, vec![entry.seq])),
            Event::Trouble { reason } if !doubts => Some(Finding::shown(reason, vec![entry.seq])),
            _ => None,
        })
}

fn faults(evidence: Evidence<'_>) -> BTreeMap<FaultId, Fault> {
    let mut faults: BTreeMap<FaultId, Fault> = BTreeMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Armed {
                fault,
                text,
                expected,
                ..
            } => {
                let record = faults.entry(*fault).or_default();
                record.text.clone_from(text);
                record.expected = *expected;
                record.entries.push(entry.seq);
            }
            Event::Triggered { fault, .. } => {
                let record = faults.entry(*fault).or_default();
                record.triggered += 1;
                record.entries.push(entry.seq);
            }
            Event::Landed { fault, .. } => faults.entry(*fault).or_default().landed += 1,
            Event::Missed { fault, reason } => {
                let record = faults.entry(*fault).or_default();
                record.missed.push(reason.clone());
                record.entries.push(entry.seq);
            }
            _ => {}
        }
    }
    faults
}

/// A message that was announced to kill and was delivered must have killed.
fn announced_without_death(evidence: Evidence<'_>) -> Vec<Finding> {
    let mut announced: BTreeMap<&MessageName, (u64, &str)> = BTreeMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Declared {
                message,
                kills: Some(role),
                ..
            } => {
                announced.insert(message, (entry.seq, role));
            }
            Event::Exited {
                cause: DeathCause::Announced,
                in_hand,
                ..
            } => {
                for message in in_hand {
                    announced.remove(message);
                }
            }
            _ => {}
        }
    }
    announced
        .into_iter()
        .map(|(message, (seq, role))| {
            let text = format!("{message} was announced to kill a {role} and killed none");
            Finding::shown(text, vec![seq])
        })
        .collect()
}

#[cfg(test)]
mod tests;
