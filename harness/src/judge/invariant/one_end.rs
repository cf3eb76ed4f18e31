//! A job has exactly one terminal state per series; late writers are refused.

use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "one end for each series";

pub(super) fn check(_: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (message, account) in &ledger.accounts {
        for series in 0..account.series.len().max(1) {
            let ends = account.ends_in(series);
            if ends.len() > 1 {
                let names: Vec<&str> = ends.iter().map(|(_, end)| end.as_str()).collect();
                violations.push(Violation {
                    invariant: NAME,
                    text: format!("{message} ended {} times: {}", ends.len(), names.join(", ")),
                    evidence: ends.iter().map(|(seq, _)| *seq).collect(),
                });
            }
        }
    }
    violations
}
