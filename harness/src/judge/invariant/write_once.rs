//! The outside write of a job is performed at most once per series, and exactly once
//! where the job's end requires it.

use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "the outside write happens once";
/// The rule that the end of a message may require its write.
pub(super) const NEVER: &str = "an end rests on its outside write";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (message, account) in &ledger.accounts {
        for series in 0..account.series.len().max(1) {
            let writes: Vec<u64> = account
                .writes
                .iter()
                .copied()
                .filter(|seq| account.series_at(*seq) == series)
                .collect();
            if writes.len() > 1 {
                violations.push(Violation {
                    invariant: NAME,
                    text: format!(
                        "the outside write of {message} was performed {} times",
                        writes.len()
                    ),
                    evidence: writes.clone(),
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
    violations
}
