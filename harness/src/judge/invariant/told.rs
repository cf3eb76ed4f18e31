//! A client is told of its own job, and of nothing that is not durable.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Event;
use crate::ids::MessageName;
use crate::judge::{Evidence, Ledger, Violation};
use crate::stage::JOB;

pub(super) const NAME: &str = "a client is told of its own durable job";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let made = jobs_made(evidence);
    let durable = evidence.manifest.submit_durable();
    let mut passed: BTreeSet<&MessageName> = BTreeSet::new();
    // Where ids mean nothing before the client knows them, whose passage it was stays
    // open: such a one stands for one client.
    let mut of_nobody = 0_u32;
    let mut told: BTreeMap<&str, &MessageName> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Stage { stage, message, .. } if Some(stage) == durable => match message {
                Some(message) => {
                    passed.insert(message);
                }
                None => of_nobody += 1,
            },
            Event::Accepted { message, job } => {
                let first = *told.entry(job).or_insert(message);
                let owners = made.get(job.as_str());
                let has_jobs = || made.values().any(|owners| owners.contains(message));
                let wrong = if owners.is_some_and(|owners| !owners.contains(message)) {
                    Some(format!(
                        "the client of {message} was told job {job}, which was made for another message"
                    ))
                } else if first != message {
                    Some(format!(
                        "the clients of {first} and {message} were told the same job {job}"
                    ))
                } else if owners.is_none() && has_jobs() {
                    Some(format!(
                        "the client of {message} was told job {job}, and another was made for it"
                    ))
                } else {
                    None
                };
                if of_nobody > 0 && passed.insert(message) {
                    of_nobody -= 1;
                }
                let early = durable.filter(|_| !passed.contains(message)).map(|stage| {
                    format!("the client of {message} was told job {job} before {stage}")
                });
                violations.extend(wrong.into_iter().chain(early).map(|text| Violation {
                    invariant: NAME,
                    text,
                    evidence: vec![entry.seq],
                }));
            }
            _ => {}
        }
    }
    violations
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
