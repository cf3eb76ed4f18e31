//! Deaths that nobody ordered or announced.
//!
//! Those of a process that never made a call are no failure of the system's promises: it
//! never started. All of one instance that ended alike are told once.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{DeathCause, Event};
use crate::ids::{Incarnation, RoleName};
use crate::judge::{Evidence, Finding, Violation};

/// What unexpected deaths come to.
#[derive(Default)]
pub(super) struct Deaths {
    /// Of processes that had worked.
    pub(super) violations: Vec<Violation>,
    /// Of processes that never did.
    pub(super) errors: Vec<Finding>,
}

/// An instance, whether it ever made a call, and how it ended.
type Alike = ((RoleName, u32), bool, String);

/// The deaths of one instance that ended alike.
#[derive(Default)]
struct Group<'a> {
    incarnations: Vec<&'a Incarnation>,
    evidence: Vec<u64>,
}

pub(super) fn unexpected(evidence: Evidence<'_>) -> Deaths {
    let mut callers: BTreeSet<(RoleName, u32)> = BTreeSet::new();
    let mut words: BTreeMap<&Incarnation, String> = BTreeMap::new();
    let mut groups: BTreeMap<Alike, Group<'_>> = BTreeMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Called { author, .. } => {
                if let Some(incarnation) = author.incarnation() {
                    callers.insert(instance(incarnation));
                }
            }
            Event::LastWords {
                incarnation,
                lines,
                log,
            } => {
                words.insert(incarnation, last_words(lines, log));
            }
            Event::Exited {
                incarnation,
                code,
                signal,
                cause: DeathCause::Unexpected,
                ..
            } => {
                let how = match (code, signal) {
                    (_, Some(signal)) => format!("died of {signal}"),
                    (Some(code), None) => format!("died with exit code {code}"),
                    (None, None) => "died unseen".to_owned(),
                };
                let of = instance(incarnation);
                let called = callers.contains(&of);
                let group = groups.entry((of, called, how)).or_default();
                group.incarnations.push(incarnation);
                group.evidence.push(entry.seq);
            }
            _ => {}
        }
    }
    let mut deaths = Deaths::default();
    for ((_, called, how), group) in groups {
        let [first, .., last] = group.incarnations[..] else {
            let only = group.incarnations[0];
            let told = words.get(only).map_or("", String::as_str);
            deaths.add(called, &only.to_string(), &how, told, group.evidence);
            continue;
        };
        let who = format!("{first} to {last}");
        let how = format!("{how}, {} times", group.incarnations.len());
        let told = words.get(last).map_or("", String::as_str);
        deaths.add(called, &who, &how, told, group.evidence);
    }
    deaths
}

impl Deaths {
    fn add(&mut self, called: bool, who: &str, how: &str, words: &str, evidence: Vec<u64>) {
        if called {
            self.violations.push(Violation {
                invariant: "no process dies unasked",
                text: format!("{who} {how}; nothing had ordered or announced it{words}"),
                evidence,
            });
        } else {
            let text = format!(
                "{who} {how} and never made a call: it does not start, or does not use the addresses that its environment gives it{words}"
            );
            self.errors.push(Finding::shown(text, evidence));
        }
    }
}

fn instance(incarnation: &Incarnation) -> (RoleName, u32) {
    (incarnation.role.clone(), incarnation.instance)
}

fn last_words(lines: &[String], log: &str) -> String {
    if lines.is_empty() {
        return format!("\nit wrote nothing to {log}");
    }
    format!("\nthe end of its output ({log}):\n  {}", lines.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Verdict;
    use crate::judge::story::Story;

    fn dies(story: Story, start: u32) -> Story {
        let incarnation = Incarnation {
            role: "labeller".into(),
            instance: 1,
            start,
        };
        story
            .then(Event::Exited {
                incarnation: incarnation.clone(),
                code: Some(1),
                signal: None,
                cause: DeathCause::Unexpected,
                in_hand: Vec::new(),
            })
            .then(Event::LastWords {
                incarnation,
                lines: vec![format!("no such option, start {start}")],
                log: "labeller-1.log".to_owned(),
            })
    }

    #[test]
    fn a_process_that_never_made_a_call_did_not_start_and_is_told_once() {
        let story = Story::new().shipped("M1").quiet();
        let judgement = dies(dies(dies(story, 1), 2), 3).judged();
        assert_eq!(judgement.verdict, Verdict::Error, "{judgement:?}");
        assert_eq!(judgement.errors.len(), 1);
        let told = &judgement.errors[0].text;
        assert!(told.starts_with("labeller-1#1 to labeller-1#3 died with exit code 1, 3 times"));
        assert!(
            told.contains("(labeller-1.log):\n  no such option, start 3"),
            "{told}"
        );
    }
}
