//! Totals counted from what was witnessed.

use std::collections::{BTreeMap, BTreeSet};

use super::Evidence;
use crate::history::{Entry, Event};
use crate::ids::MessageName;
use crate::manifest::Witness;

/// One total, by label where it is split (the empty label otherwise).
pub type Figure = BTreeMap<String, i64>;

/// Counts a witness over a history.
pub fn count(evidence: Evidence<'_>, witness: &Witness) -> Figure {
    let mut count = Count::default();
    count.catch_up(evidence, witness);
    count.figure
}

/// Counts a witness over a history for each message that passed one of its stages: all of
/// them in one reading.
pub fn count_each(evidence: Evidence<'_>, witness: &Witness) -> BTreeMap<MessageName, Figure> {
    let mut each: BTreeMap<&MessageName, Count> = BTreeMap::new();
    for (message, captured, step) in passages(evidence.entries, witness) {
        if let Some(of) = message {
            let count = each.entry(of).or_default();
            count.add(witness, message, captured, step);
        }
    }
    each.into_iter()
        .map(|(message, count)| (message.clone(), count.figure))
        .collect()
}

/// A figure that is counted as a history grows.
#[derive(Debug, Default)]
pub struct Count {
    /// The last entry that was read.
    read: u64,
    figure: Figure,
    seen: BTreeSet<(String, Option<MessageName>)>,
}

impl Count {
    /// Counts what was appended since.
    pub fn catch_up(&mut self, evidence: Evidence<'_>, witness: &Witness) -> &Figure {
        if witness.by.is_none() {
            self.figure.entry(String::new()).or_default();
        }
        let later = evidence.since(self.read);
        for (message, captured, step) in passages(later, witness) {
            self.add(witness, message, captured, step);
        }
        self.read = evidence.last();
        &self.figure
    }

    fn add(
        &mut self,
        witness: &Witness,
        of: Option<&MessageName>,
        captured: &BTreeMap<String, String>,
        step: i64,
    ) {
        let label = match &witness.by {
            Some(by) => captured
                .get(by)
                .cloned()
                .unwrap_or_else(|| "(no label)".to_owned()),
            None => String::new(),
        };
        if witness.distinct && !self.seen.insert((label.clone(), of.cloned())) {
            return;
        }
        *self.figure.entry(label).or_default() += step;
    }
}

/// A passage that a witness counts: whose, what was captured, and what it adds.
type PassageOf<'e> = (Option<&'e MessageName>, &'e BTreeMap<String, String>, i64);

fn passages<'e>(entries: &'e [Entry], witness: &'e Witness) -> impl Iterator<Item = PassageOf<'e>> {
    entries.iter().filter_map(|entry| {
        let Event::Stage {
            stage,
            message,
            captured,
            ..
        } = &entry.event
        else {
            return None;
        };
        let step = witness.step(stage);
        (step != 0).then_some((message.as_ref(), captured, step))
    })
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

/// Writes that services played by the harness performed.
pub fn performed_writes(evidence: Evidence<'_>) -> i64 {
    requests(evidence, |event| {
        matches!(event, Event::Performed { write: true, .. })
    })
}

/// Writes that such services answered and did not perform, because they had performed one
/// with the same idempotency key.
pub fn repeated_writes(evidence: Evidence<'_>) -> i64 {
    requests(evidence, |event| {
        matches!(event, Event::Performed { repeated: true, .. })
    })
}

fn requests(evidence: Evidence<'_>, wanted: impl Fn(&Event) -> bool) -> i64 {
    let entries = evidence.entries.iter();
    let count = entries.filter(|entry| wanted(&entry.event)).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}
