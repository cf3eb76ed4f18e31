//! A client is told of its own job, and of nothing that is not durable.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Event;
use crate::ids::MessageName;
use crate::judge::{Evidence, Ledger, Violation};
use crate::stage::JOB;

pub(super) const NAME: &str = "a client is told of its own durable job";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let made = jobs_made(evidence);
    let with_jobs: BTreeSet<&MessageName> = made.values().flatten().copied().collect();
    let durable = Durable::of(evidence);
    let mut told: BTreeMap<&str, &MessageName> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in evidence.entries {
        let Event::Accepted { message, job } = &entry.event else {
            continue;
        };
        let first = *told.entry(job).or_insert(message);
        let owners = made.get(job.as_str());
        let wrong = if owners.is_some_and(|owners| !owners.contains(message)) {
            Some(format!(
                "the client of {message} was told job {job}, which was made for another message"
            ))
        } else if first != message {
            Some(format!(
                "the clients of {first} and {message} were told the same job {job}"
            ))
        } else if owners.is_none() && with_jobs.contains(message) {
            Some(format!(
                "the client of {message} was told job {job}, and another was made for it"
            ))
        } else {
            None
        };
        let mut violate = |text, evidence| {
            violations.push(Violation {
                invariant: NAME,
                text,
                evidence,
            });
        };
        if let Some(text) = wrong {
            violate(text, vec![entry.seq]);
        }
        if let Some(later) = durable.only_after(message, entry.seq) {
            violate(
                format!("the client of {message} was told job {job} before it was durable"),
                vec![entry.seq, later],
            );
        }
    }
    violations
}

/// When jobs became durable, by the stage that the manifest names for it.
///
/// A job that never passes the stage convicts nobody here: the answer to its commit may
/// have been lost, and what was never durable at all is lost, which is another rule's.
struct Durable<'e> {
    of: BTreeMap<&'e MessageName, u64>,
    /// Passages whose message was not known: where ids mean nothing before a client knows
    /// them, any of these may be anybody's.
    of_nobody: Option<u64>,
}

impl<'e> Durable<'e> {
    fn of(evidence: Evidence<'e>) -> Self {
        let wanted = evidence.manifest.messages.submit.durable();
        let (mut of, mut of_nobody) = (BTreeMap::new(), None);
        for entry in evidence.entries {
            match &entry.event {
                Event::Stage { stage, message, .. } if Some(stage) == wanted => match message {
                    Some(message) => {
                        of.entry(message).or_insert(entry.seq);
                    }
                    None => {
                        of_nobody.get_or_insert(entry.seq);
                    }
                },
                _ => {}
            }
        }
        Self { of, of_nobody }
    }

    /// The first passage, if all that may be this message's come after this entry.
    fn only_after(&self, message: &MessageName, seq: u64) -> Option<u64> {
        let own = *self.of.get(message)?;
        let earlier_of_nobody = self.of_nobody.is_some_and(|passage| passage < seq);
        (own > seq && !earlier_of_nobody).then_some(own)
    }
}

/// For whom jobs were made, as far as stages capture their ids.
fn jobs_made(evidence: Evidence<'_>) -> BTreeMap<&str, BTreeSet<&MessageName>> {
    let mut made: BTreeMap<&str, BTreeSet<&MessageName>> = BTreeMap::new();
    for entry in evidence.entries {
        if let Event::Stage {
            message: Some(message),
            captured,
            ..
        } = &entry.event
            && let Some(job) = captured.get(JOB)
        {
            made.entry(job).or_default().insert(message);
        }
    }
    made
}
