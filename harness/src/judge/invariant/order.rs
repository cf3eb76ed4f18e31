//! Stages that the manifest puts in an order are passed in that order, for each
//! message.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Event;
use crate::ids::{MessageName, StageName};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "stages in their order";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let mut passed: BTreeSet<(&StageName, &MessageName)> = BTreeSet::new();
    let mut counts: BTreeMap<&StageName, usize> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in evidence.entries {
        let Event::Stage { stage, message, .. } = &entry.event else {
            continue;
        };
        *counts.entry(stage).or_default() += 1;
        for order in evidence
            .manifest
            .order
            .iter()
            .filter(|order| order.stage == *stage)
        {
            let count = |stage| counts.get(stage).copied().unwrap_or_default();
            // A passage of nobody known needs an earlier one that no other has used up.
            let (kept, who) = match message {
                Some(message) => (
                    passed.contains(&(&order.after, message)),
                    message.to_string(),
                ),
                None => (
                    count(stage) <= count(&order.after),
                    "something unknown".to_owned(),
                ),
            };
            if !kept {
                violations.push(Violation {
                    invariant: NAME,
                    text: format!("{who} passed {stage} without {}", order.after),
                    evidence: vec![entry.seq],
                });
            }
        }
        if let Some(message) = message {
            passed.insert((stage, message));
        }
    }
    violations
}
