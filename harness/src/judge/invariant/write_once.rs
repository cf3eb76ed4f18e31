//! The outside write of a job is performed at most once per series, and exactly once
//! where the job's end requires it. Writes at different routes are different writes.

use std::collections::BTreeMap;

use crate::history::Event;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "the outside write happens once";
/// The rule that the end of a message may require its write.
pub(super) const NEVER: &str = "an end rests on its outside write";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    let routes = routes(evidence);
    for (message, account) in &ledger.accounts {
        for series in 0..account.series.len().max(1) {
            let mut by_route: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
            for seq in &account.writes {
                if account.series_at(*seq) == series {
                    let route = routes.get(seq).copied().unwrap_or_default();
                    by_route.entry(route).or_default().push(*seq);
                }
            }
            for (route, writes) in by_route.into_iter().filter(|(_, writes)| writes.len() > 1) {
                let at = if route.is_empty() {
                    String::new()
                } else {
                    format!(" at {route}")
                };
                violations.push(Violation {
                    invariant: NAME,
                    text: format!(
                        "the outside write of {message}{at} was performed {} times",
                        writes.len()
                    ),
                    evidence: writes,
                });
            }
        }
        for (ended, end) in &account.ends {
            let requires = evidence
                .manifest
                .terminal
                .get(end)
                .is_some_and(|end| end.requires_write);
            // A later series may rest on the write of an earlier one.
            if requires && !account.writes.iter().any(|write| write < ended) {
                violations.push(Violation {
                    invariant: NEVER,
                    text: format!(
                        "{message} ended as {end} and its outside write was not performed"
                    ),
                    evidence: vec![*ended],
                });
            }
        }
    }
    for (at, job) in &ledger.strange_writes {
        // Where the job cannot be told at all it is the harness that does not see.
        let Some(job) = job else { continue };
        violations.push(Violation {
            invariant: NAME,
            text: format!("an outside write was performed for {job:?}, which is no message's"),
            evidence: vec![*at],
        });
    }
    violations.extend(groups(evidence));
    violations
}

/// Writes for a group of jobs: one for each.
fn groups(evidence: Evidence<'_>) -> Vec<Violation> {
    let mut writes: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for entry in evidence.entries {
        if let Event::Performed {
            write: true,
            route,
            group: Some(group),
            ..
        } = &entry.event
        {
            let of = (route.as_deref().unwrap_or_default(), group.as_str());
            writes.entry(of).or_default().push(entry.seq);
        }
    }
    let twice = writes.into_iter().filter(|(_, writes)| writes.len() > 1);
    twice
        .map(|((route, group), writes)| Violation {
            invariant: NAME,
            text: format!(
                "the outside write for the group {group:?} at {route} was performed {} times",
                writes.len()
            ),
            evidence: writes,
        })
        .collect()
}

/// Where each write was performed.
fn routes(evidence: Evidence<'_>) -> BTreeMap<u64, &str> {
    evidence
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Performed { route, .. } => Some((entry.seq, route.as_deref()?)),
            _ => None,
        })
        .collect()
}
