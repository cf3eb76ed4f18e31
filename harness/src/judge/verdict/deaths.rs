//! Deaths that nobody ordered or announced.
//!
//! Those of a process that never made a call are no failure of the system's promises: it
//! never started. Of one that had in hand what nobody can name, where a kind of content kills
//! its role, nobody knows whether it was announced. All of one instance that ended alike are
//! told once.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{DeathCause, Event};
use crate::ids::{Incarnation, RoleName};
use crate::judge::{Evidence, Finding, Violation};

/// What unexpected deaths come to.
#[derive(Default)]
pub(super) struct Deaths {
    /// Of processes that had worked.
    pub(super) violations: Vec<Violation>,
    /// Of processes that never did, and those that may have been announced.
    pub(super) errors: Vec<Finding>,
}

/// What speaks of a death.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    /// Nothing: the process had worked.
    None,
    /// It never made a call.
    NeverCalled,
    /// It had in hand what nobody can name, and messages may kill it.
    MayBeAnnounced,
}

/// An instance, what speaks of its death, and how it ended.
type Alike = ((RoleName, u32), Doubt, String);

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
    let kinds = evidence.manifest.messages.kinds.values();
    let killed: BTreeSet<&RoleName> = kinds.filter_map(|kind| kind.kills.as_ref()).collect();
    // What each has in hand and nobody can name, by receipt.
    let mut unnamed: BTreeMap<&Incarnation, BTreeSet<&str>> = BTreeMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Delivered {
                author,
                receipt,
                message: None,
                ..
            } => {
                if let Some(incarnation) = author.incarnation() {
                    unnamed.entry(incarnation).or_default().insert(receipt);
                }
            }
            Event::Deleted {
                author, receipt, ..
            } => {
                let of = author.incarnation().and_then(|of| unnamed.get_mut(of));
                if let Some(receipts) = of {
                    receipts.remove(receipt.as_str());
                }
            }
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
                let holds_unnamed = || unnamed.get(incarnation).is_some_and(|it| !it.is_empty());
                let doubt = if !callers.contains(&of) {
                    Doubt::NeverCalled
                } else if killed.contains(&incarnation.role) && holds_unnamed() {
                    Doubt::MayBeAnnounced
                } else {
                    Doubt::None
                };
                let group = groups.entry((of, doubt, how)).or_default();
                group.incarnations.push(incarnation);
                group.evidence.push(entry.seq);
            }
            _ => {}
        }
    }
    let mut deaths = Deaths::default();
    for ((_, doubt, how), group) in groups {
        let [first, .., last] = group.incarnations[..] else {
            let only = group.incarnations[0];
            let told = words.get(only).map_or("", String::as_str);
            deaths.add(doubt, &only.to_string(), &how, told, group.evidence);
            continue;
        };
        let who = format!("{first} to {last}");
        let how = format!("{how}, {} times", group.incarnations.len());
        let told = words.get(last).map_or("", String::as_str);
        deaths.add(doubt, &who, &how, told, group.evidence);
    }
    deaths
}

impl Deaths {
    fn add(&mut self, doubt: Doubt, who: &str, how: &str, words: &str, evidence: Vec<u64>) {
        let text = match doubt {
            Doubt::None => {
                self.violations.push(Violation {
                    invariant: "no process dies unasked",
                    text: format!("{who} {how}; nothing had ordered or announced it{words}"),
                    evidence,
                });
                return;
            }
            Doubt::NeverCalled => format!(
                "{who} {how} and never made a call: it does not start, or does not use the addresses that its environment gives it{words}"
            ),
            Doubt::MayBeAnnounced => format!(
                "{who} {how} with a message in hand that nothing names: nobody can tell whether it is one whose content kills it; say under `messages.recognise` where the id stands{words}"
            ),
        };
        self.errors.push(Finding::shown(text, evidence));
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
    use crate::ids::Author;
    use crate::judge::Verdict;
    use crate::judge::story::{Story, packer};
    use crate::manifest::Manifest;

    fn fixture() -> Manifest {
        let path = std::path::Path::new("tests/fixtures/judge/rehearsal.yaml");
        Manifest::load(path).unwrap()
    }

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

    fn received_unnamed(story: Story) -> Story {
        let story = story.called(&packer(1), "ReceiveMessage orders");
        let call = story.last_call();
        story.then(Event::Delivered {
            call,
            author: Author::Process(packer(1)),
            queue: "orders".to_owned(),
            message_id: "copy".to_owned(),
            receipt: "copy-1".to_owned(),
            message: None,
            deliverable: true,
            body: None,
        })
    }

    #[test]
    fn a_death_with_what_nobody_can_name_in_hand_convicts_nobody_where_content_may_kill() {
        let story = received_unnamed(Story::new());
        let events = story.exited(DeathCause::Unexpected, &[]);
        let entries = events.entries();
        let manifest = fixture();
        let evidence = Evidence {
            manifest: &manifest,
            entries: &entries,
        };
        let deaths = unexpected(evidence);
        assert!(deaths.violations.is_empty(), "{:?}", deaths.violations);
        let told = &deaths.errors[0].text;
        assert!(told.contains("that nothing names"), "{told}");

        let named = Story::new().delivered("M1", "copy");
        let entries = named.exited(DeathCause::Unexpected, &["M1"]).entries();
        let evidence = Evidence {
            manifest: &manifest,
            entries: &entries,
        };
        assert_eq!(unexpected(evidence).violations.len(), 1);
    }
}
