//! Stages that the manifest puts in an order are passed in that order, for each
//! message.

use std::collections::BTreeSet;

use crate::history::Event;
use crate::ids::{MessageName, StageName};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "stages in their order";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let mut passed: BTreeSet<(&StageName, &MessageName)> = BTreeSet::new();
    let mut violations = Vec::new();
    for entry in evidence.entries {
        let Event::Stage {
            stage,
            message: Some(message),
            ..
        } = &entry.event
        else {
            continue;
        };
        for order in evidence
            .manifest
            .order
            .iter()
            .filter(|order| order.stage == *stage)
        {
            if !passed.contains(&(&order.after, message)) {
                violations.push(Violation {
                    invariant: NAME,
                    text: format!("{message} passed {stage} without {}", order.after),
                    evidence: vec![entry.seq],
                });
            }
        }
        passed.insert((stage, message));
    }
    violations
}
