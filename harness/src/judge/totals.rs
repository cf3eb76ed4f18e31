//! Totals counted from what was witnessed.

use std::collections::{BTreeMap, BTreeSet};

use super::Evidence;
use crate::history::Event;
use crate::ids::{DependencyName, MessageName};
use crate::manifest::Witness;

/// One total, by label where it is split (the empty label otherwise).
pub type Figure = BTreeMap<String, i64>;

/// Counts a witness over a history, for one message or for all.
pub fn count(evidence: Evidence<'_>, witness: &Witness, of: Option<&MessageName>) -> Figure {
    let mut figure = Figure::new();
    if witness.by.is_none() {
        figure.insert(String::new(), 0);
    }
    let mut seen: BTreeSet<(String, Option<&MessageName>)> = BTreeSet::new();
    for entry in evidence.entries {
        let Event::Stage {
            stage,
            message,
            captured,
            ..
        } = &entry.event
        else {
            continue;
        };
        if of.is_some() && message.as_ref() != of {
            continue;
        }
        let step =
            i64::from(witness.add.contains(stage)) - i64::from(witness.subtract.contains(stage));
        if step == 0 {
            continue;
        }
        let label = match &witness.by {
            Some(by) => captured
                .get(by)
                .cloned()
                .unwrap_or_else(|| "(no label)".to_owned()),
            None => String::new(),
        };
        if witness.distinct && !seen.insert((label.clone(), message.as_ref())) {
            continue;
        }
        *figure.entry(label).or_default() += step;
    }
    figure
}

/// Figures by label, each with the entry that it stands in.
pub(super) type Counted<'a> = BTreeMap<&'a str, (i64, u64)>;

/// The figures of the latest snapshot, by total and by who says so.
pub(super) fn last_counted(evidence: Evidence<'_>) -> BTreeMap<&str, BTreeMap<&str, Counted<'_>>> {
    let mut figures: BTreeMap<&str, BTreeMap<&str, Counted<'_>>> = BTreeMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Quiet => figures.clear(),
            Event::Counted {
                total,
                label,
                source,
                value,
            } => {
                let label = label.as_deref().unwrap_or_default();
                let sources = figures.entry(total).or_default();
                sources
                    .entry(source)
                    .or_default()
                    .insert(label, (*value, entry.seq));
            }
            _ => {}
        }
    }
    figures
}

/// Writes that services played by the harness performed: for one message or for all, of
/// one service or of all.
pub fn performed_writes(
    evidence: Evidence<'_>,
    service: Option<&DependencyName>,
    of: Option<&MessageName>,
) -> i64 {
    let ledger = super::Ledger::of(evidence);
    let wanted: Option<&[u64]> = of.map(|message| {
        ledger
            .accounts
            .get(message)
            .map_or(&[][..], |account| &account.writes)
    });
    let count = evidence
        .entries
        .iter()
        .filter(|entry| match &entry.event {
            Event::Performed {
                write: true,
                dependency,
                ..
            } => {
                service.is_none_or(|service| service == dependency)
                    && wanted.is_none_or(|wanted| wanted.contains(&entry.seq))
            }
            _ => false,
        })
        .count();
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Writes that such services answered and did not perform, because they had performed one
/// with the same idempotency key: for one message or for all.
pub fn repeated_writes(evidence: Evidence<'_>, of: Option<&MessageName>) -> i64 {
    let count = match of {
        Some(message) => super::Ledger::of(evidence)
            .accounts
            .get(message)
            .map_or(0, |account| account.repetitions.len()),
        None => evidence
            .entries
            .iter()
            .filter(|entry| matches!(entry.event, Event::Performed { repeated: true, .. }))
            .count(),
    };
    i64::try_from(count).unwrap_or(i64::MAX)
}
