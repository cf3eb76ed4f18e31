//! Every accepted job has an end, or is still somewhere: waiting to be sent, or in a
//! queue, or set aside where a person sees it.

use crate::history::Event;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "nothing is lost";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let quiet = evidence
        .entries
        .iter()
        .any(|entry| matches!(entry.event, Event::Quiet));
    let mut violations = Vec::new();
    for (message, account) in &ledger.accounts {
        let Some(accepted) = account.accepted else {
            continue;
        };
        let series = account.series.len().saturating_sub(1);
        if !account.ends_in(series).is_empty() {
            continue;
        }
        let sent_in_series = account
            .sent
            .values()
            .any(|seq| account.series_at(*seq) == series);
        if account
            .rests
            .is_some_and(|seq| account.series_at(seq) == series)
        {
            continue;
        }
        if sent_in_series && account.left().is_empty() {
            violations.push(Violation {
                invariant: NAME,
                text: format!(
                    "{message} was accepted, has no end, and all its copies were deleted"
                ),
                evidence: std::iter::once(accepted)
                    .chain(account.deletions.iter().map(|deletion| deletion.at))
                    .collect(),
            });
        } else if !sent_in_series && quiet {
            violations.push(Violation {
                invariant: NAME,
                text: format!("{message} was accepted and no queue ever got it"),
                evidence: vec![accepted],
            });
        }
    }
    violations
}
