//! Messages whose attempts are used up, as far as it was seen.

use std::collections::BTreeMap;

use super::{Evidence, Ledger};
use crate::history::Event;
use crate::ids::MessageName;

/// The messages that ended at the limit of their attempts in their present series, and
/// where. An end with another label is another end.
pub fn exhausted(evidence: Evidence<'_>) -> BTreeMap<MessageName, u64> {
    let attempts = evidence.manifest.attempts.as_ref();
    let Some(exhausted) = attempts.and_then(|attempts| attempts.exhausted.as_ref()) else {
        return BTreeMap::new();
    };
    let labelled = |at: u64| match &exhausted.label {
        None => true,
        Some((by, label)) => evidence
            .entries
            .iter()
            .find(|entry| entry.seq == at)
            .is_some_and(|entry| match &entry.event {
                Event::Stage { captured, .. } => captured.get(by) == Some(label),
                _ => false,
            }),
    };
    Ledger::of(evidence)
        .accounts
        .into_iter()
        .filter_map(|(message, account)| {
            let series = account.series.len().saturating_sub(1);
            let ends = account.ends_in(series);
            let (at, _) = ends
                .into_iter()
                .find(|(at, end)| *end == exhausted.end && labelled(*at))?;
            Some((message, *at))
        })
        .collect()
}
