//! Calls that misbehave as if the system were broken: chosen from what it was seen to do in
//! a rehearsal without faults, one for each call site and kind. No program is built anew.

use std::collections::BTreeSet;
use std::path::Path;

use super::variant::{Kind, Variant};
use crate::history::{Entry, Event};
use crate::ids::RoleName;
use crate::manifest::{Manifest, OPERATOR, Protocol};
use crate::shape::{Asked, Shape};

/// The feature that shows what a system does when nothing goes wrong.
pub(super) const PLAIN: &str = "\
Feature: wire

  Scenario: nothing goes wrong
    Given the messages M1 to M3
    When all messages are submitted
    Then everything is quiet
";

/// How a call misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Misdeed {
    /// What a step says of it, up to the call.
    phrase: &'static str,
    /// What it means, before the call.
    what: &'static str,
}

const AT_ONCE: Misdeed = Misdeed {
    phrase: "is heard twice at",
    what: "repeats at once",
};
const LATER: Misdeed = Misdeed {
    phrase: "is heard again 2s after",
    what: "repeats two seconds later",
};
const PRETENCE: Misdeed = Misdeed {
    phrase: "is told falsely that all is done at",
    what: "goes on as if done, and never makes,",
};
/// One variant for each call site and misdeed.
pub(super) fn wire(
    manifest: &Manifest,
    entries: &[Entry],
    plain: usize,
    others: &[usize],
) -> Vec<Variant> {
    let mut sites: BTreeSet<(RoleName, Shape)> = BTreeSet::new();
    for entry in entries {
        let Event::Called {
            author,
            shape: Some(shape),
            ..
        } = &entry.event
        else {
            continue;
        };
        if let Some(by) = author
            .incarnation()
            .filter(|by| by.role.as_str() != OPERATOR)
        {
            sites.insert((by.role.clone(), (**shape).clone()));
        }
    }
    let mut variants = Vec::new();
    for (role, shape) in sites {
        for misdeed in misdeeds(manifest, &shape) {
            let Misdeed { phrase, what } = misdeed;
            let given = format!(
                "the {role} {phrase} \"{shape}\" of any message every time, if it gets there"
            );
            variants.push(Variant {
                kind: Kind::Wire,
                name: format!("the {role} {what} {shape}"),
                what: given.clone(),
                given: vec![given],
                left_out: Vec::new(),
                meant: vec![plain],
                others: others.to_vec(),
                made: None,
            });
        }
    }
    variants
}

/// What can be done to such a call that breaks a right system.
fn misdeeds(manifest: &Manifest, shape: &Shape) -> &'static [Misdeed] {
    match &shape.asked {
        Asked::Request { method, .. } => {
            let dependency = manifest.dependencies.get(&shape.dependency);
            let outside =
                dependency.is_some_and(|one| matches!(one.protocol, Protocol::Http { .. }));
            if outside && !["GET", "HEAD", "OPTIONS"].contains(&method.as_str()) {
                &[AT_ONCE, LATER, PRETENCE]
            } else {
                &[]
            }
        }
        Asked::Action { action, .. } => match action.as_str() {
            "DeleteMessage"
            | "DeleteMessageBatch"
            | "SendMessage"
            | "SendMessageBatch"
            | "ChangeMessageVisibility" => &[PRETENCE],
            _ => &[],
        },
        // What a transaction did and did not do is told by no wire before its end; of Redis
        // nothing is pretended yet.
        Asked::Statements(_) | Asked::Commit(_) | Asked::Commands(_) => &[],
    }
}

/// The entries of a history.
pub(super) fn entries(history: &Path) -> Option<Vec<Entry>> {
    crate::history::read(history).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story, packer};

    #[test]
    fn each_call_site_has_its_misdeeds_once() {
        let story = Story::new()
            .called(&packer(1), "DeleteMessage orders")
            .called(&packer(1), "DeleteMessage orders")
            .called(&packer(1), "GetQueueUrl orders");
        let variants = wire(&MANIFEST, &story.entries(), 7, &[1, 2]);
        let names: Vec<&str> = variants.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            ["the packer goes on as if done, and never makes, DeleteMessage orders"]
        );
        assert_eq!(variants[0].meant, [7]);
        assert!(variants[0].given[0].ends_with("of any message every time, if it gets there"));
    }
}
