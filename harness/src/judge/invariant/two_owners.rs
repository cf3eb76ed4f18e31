//! At most one living owner works on a job: two processes that received it from one queue
//! do not both go on changing something for it.
//!
//! A system that is idempotent comes out right all the same, and a queue may deliver a
//! message twice at any time: so this is told, and fails only where a manifest says so.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::history::Event;
use crate::ids::{CallId, DependencyName, Incarnation, MessageName, StageName};
use crate::judge::{Evidence, Ledger, Violation};
use crate::manifest::{Binding, Manifest, Pattern, Protocol, RowChange, Witness};
use crate::tap::Side;

pub(super) const NAME: &str = "one owner works on a job";

/// From a delivery of a job to the last change that its owner made for it since.
struct Tenure<'e> {
    owner: &'e Incarnation,
    queue: &'e str,
    from: u64,
    last: Option<u64>,
}

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let tenures = tenures(evidence, ledger);
    let mut violations = Vec::new();
    for (message, tenures) in tenures {
        let overlaps = tenures.iter().enumerate().find_map(|(place, one)| {
            let other = tenures[place + 1..].iter().find(|other| {
                one.owner != other.owner
                    && one.queue == other.queue
                    && one.last.is_some_and(|last| last > other.from)
                    && other.last.is_some()
            })?;
            Some((one, other))
        });
        if let Some((one, other)) = overlaps {
            violations.push(Violation {
                invariant: NAME,
                text: format!(
                    "{} and {} worked on {message} at once: the second received it while the first had not done with it",
                    one.owner, other.owner
                ),
                evidence: [Some(one.from), Some(other.from), one.last, other.last]
                    .into_iter()
                    .flatten()
                    .collect(),
            });
        }
    }
    violations
}

/// The tenures of each job, in the order in which they began.
fn tenures<'e>(
    evidence: Evidence<'e>,
    ledger: &'e Ledger,
) -> BTreeMap<&'e MessageName, Vec<Tenure<'e>>> {
    let whose: HashMap<u64, &MessageName> = ledger
        .accounts
        .iter()
        .flat_map(|(message, account)| account.delivered.iter().map(move |at| (*at, message)))
        .collect();
    let mut tenures: BTreeMap<&MessageName, Vec<Tenure<'e>>> = BTreeMap::new();
    let mut calls: HashMap<CallId, (&Incarnation, &[MessageName])> = HashMap::new();
    let of_queues = calls_of_queues(evidence);
    let work = Work::of(evidence.manifest);
    for entry in evidence.entries {
        let (by, about): (&Incarnation, &[MessageName]) = match &entry.event {
            Event::Delivered { author, queue, .. } => {
                if let (Some(owner), Some(message)) = (author.incarnation(), whose.get(&entry.seq))
                {
                    tenures.entry(message).or_default().push(Tenure {
                        owner,
                        queue,
                        from: entry.seq,
                        last: None,
                    });
                }
                continue;
            }
            Event::Called {
                call,
                author,
                dependency,
                messages,
                ..
            } => {
                if let Some(by) = author.incarnation()
                    && !messages.is_empty()
                    && work.is_at(dependency)
                {
                    calls.insert(*call, (by, messages));
                }
                continue;
            }
            Event::Replied {
                call, wrote: true, ..
            } if !of_queues.contains(call) => match calls.get(call) {
                Some(made) => *made,
                None => continue,
            },
            // An attempt that is taken back was none.
            Event::Stage {
                stage,
                incarnation,
                message: Some(message),
                ..
            } if work.is_undone_at(stage) => {
                if let Some(tenure) = latest(&mut tenures, message, incarnation) {
                    tenure.last = None;
                }
                continue;
            }
            Event::Stage {
                stage,
                call,
                incarnation,
                message: Some(message),
                ..
            } if !of_queues.contains(call) && work.is_passing(stage) => {
                (incarnation, std::slice::from_ref(message))
            }
            _ => continue,
        };
        for message in about {
            if let Some(tenure) = latest(&mut tenures, message, by) {
                tenure.last = Some(entry.seq);
            }
        }
    }
    tenures
}

/// The latest tenure of this owner.
fn latest<'t, 'e>(
    tenures: &'t mut BTreeMap<&'e MessageName, Vec<Tenure<'e>>>,
    message: &MessageName,
    by: &Incarnation,
) -> Option<&'t mut Tenure<'e>> {
    let of_message = tenures.get_mut(message)?;
    of_message.iter_mut().rfind(|one| one.owner == by)
}

/// Calls by which messages come and go: they are no work.
fn calls_of_queues(evidence: Evidence<'_>) -> HashSet<CallId> {
    let entries = evidence.entries.iter();
    entries
        .filter_map(|entry| match &entry.event {
            Event::Sent { call, .. }
            | Event::Delivered { call, .. }
            | Event::Deleted { call, .. }
            | Event::VisibilityChanged { call, .. } => Some(*call),
            _ => None,
        })
        .collect()
}

/// What counts as work. Where the manifest says what an attempt is, that, an outside write
/// and an end do; else whatever changes something.
struct Work<'e> {
    manifest: &'e Manifest,
    attempts: Option<&'e Witness>,
}

impl<'e> Work<'e> {
    fn of(manifest: &'e Manifest) -> Self {
        Self {
            manifest,
            attempts: manifest.attempts_witness(),
        }
    }

    fn is_undone_at(&self, stage: &StageName) -> bool {
        let attempts = self.attempts;
        attempts.is_some_and(|attempts| attempts.subtract.contains(stage))
    }

    fn is_at(&self, dependency: &DependencyName) -> bool {
        let outside = || {
            let known = self.manifest.dependencies.get(dependency);
            known.is_some_and(|known| matches!(known.protocol, Protocol::Http { .. }))
        };
        self.attempts.is_none() || outside()
    }

    /// Whether whoever passes a stage has changed something, or says that it is at work.
    fn is_passing(&self, stage: &StageName) -> bool {
        if self.manifest.is_end(stage) {
            return true;
        }
        let bound = self.manifest.stages.get(stage).map(|stage| &stage.binding);
        match self.attempts {
            Some(attempts) => {
                attempts.add.contains(stage) || matches!(bound, Some(Binding::Checkpoint(_)))
            }
            None => changes(bound),
        }
    }
}

fn changes(bound: Option<&Binding>) -> bool {
    match bound {
        Some(Binding::Checkpoint(_)) => true,
        Some(Binding::Boundary { side, pattern, .. }) => {
            *side == Side::After
                && match pattern {
                    Pattern::Transaction(_) | Pattern::Command { .. } => true,
                    Pattern::Request { method, .. } => {
                        !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "*")
                    }
                    Pattern::Row { change, .. } => *change == RowChange::Finished,
                    Pattern::Statement(_) | Pattern::Action { .. } => false,
                }
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::DeathCause;
    use crate::judge::story::{Story, packer};

    fn second() -> Incarnation {
        Incarnation {
            instance: 2,
            ..packer(1)
        }
    }

    /// M1 is received and tried by the first, whose time is over; the second receives it.
    fn received_twice() -> Story {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("tried", "M1");
        by_second(&story.delivered("M1", "copy"))
    }

    /// The last entry told of the first, and is of the second.
    fn by_second(story: &Story) -> Story {
        let call = story.last_call().0;
        let mut events = story.events().to_vec();
        match events.last_mut() {
            Some(Event::Delivered { author, .. }) => {
                *author = crate::ids::Author::Process(second());
            }
            Some(Event::Stage { incarnation, .. }) => *incarnation = second(),
            _ => panic!("nobody does that"),
        }
        Story::of(events).calling_from(call)
    }

    fn told(story: &Story) -> Vec<String> {
        let found = story.judged().warnings.into_iter();
        found
            .filter(|one| one.invariant == NAME)
            .map(|one| one.text)
            .collect()
    }

    #[test]
    fn two_who_work_on_a_job_at_once_are_told_and_break_no_rule() {
        let story = by_second(&received_twice().passed("tried", "M1")).passed("shipped", "M1");
        let told = told(&story);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("packer-1#1 and packer-2#1 worked on M1 at once"));
        assert!(!story.broken_rules().contains(&NAME));
    }

    #[test]
    fn whoever_has_done_with_it_before_another_begins_is_no_second_owner() {
        let story = received_twice();
        let tried = by_second(&story.passed("tried", "M1"));
        assert!(told(&by_second(&tried.passed("shipped", "M1"))).is_empty());
    }

    #[test]
    fn whoever_looks_and_leaves_it_alone_does_no_work() {
        let story = received_twice().passed("shipped", "M1");
        assert!(told(&story).is_empty());
        let deleted = story.deleted("M1", "copy");
        assert!(told(&deleted).is_empty());
    }

    #[test]
    fn an_attempt_that_is_taken_back_is_no_work() {
        let mut manifest = crate::judge::story::MANIFEST.clone();
        let tries = manifest.totals.get_mut("tries");
        let witness = tries.and_then(|tries| tries.witness.as_mut());
        let back = vec!["weighing".into()];
        witness.expect("it is counted").subtract = back;
        let story = by_second(&received_twice().passed("tried", "M1"));
        let back = by_second(&story.passed("weighing", "M1")).passed("shipped", "M1");
        let entries = back.entries();
        let evidence = Evidence {
            manifest: &manifest,
            entries: &entries,
        };
        assert_eq!(check(evidence, &Ledger::of(evidence)), []);
    }

    #[test]
    fn the_dead_do_no_work() {
        let died = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("tried", "M1")
            .exited(DeathCause::Ordered, &["M1"]);
        let again = by_second(&died.delivered("M1", "copy"));
        let tried = by_second(&again.passed("tried", "M1"));
        assert!(told(&by_second(&tried.passed("shipped", "M1"))).is_empty());
    }
}
