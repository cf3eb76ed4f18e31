//! A message is deleted only after a terminal state of its job is durable.

use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "deleted only after a durable end";

pub(super) fn check(_: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (message, account) in &ledger.accounts {
        for deletion in &account.deletions {
            // A copy belongs to the series it was sent in: an end of an earlier one does
            // not allow its deletion.
            let sent = deletion
                .copy
                .as_ref()
                .and_then(|copy| account.sent.get(copy));
            let series = account.series_at(sent.copied().unwrap_or_default());
            let ended = account
                .ends
                .iter()
                .any(|(seq, _)| *seq < deletion.began && account.series_at(*seq) >= series);
            if !ended {
                violations.push(Violation {
                    invariant: NAME,
                    text: format!(
                        "a copy of {message} was deleted before any end of its job was durable"
                    ),
                    evidence: vec![deletion.began, deletion.at],
                });
            }
        }
    }
    violations
}
