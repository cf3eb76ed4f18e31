//! Calls that misbehave as if the system were broken: chosen from what it was seen to do in
//! a rehearsal without faults, one for each call site and kind. No program is built anew.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::variant::{Kind, Variant};
use crate::history::{Entry, Event};
use crate::ids::{CallId, RoleName, StageName};
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
const ALTERED: Misdeed = Misdeed {
    phrase: "gets one letter wrong at",
    what: "alters a byte of",
};
const HIDDEN: Misdeed = Misdeed {
    phrase: "hides too long at",
    what: "hides for twelve hours with",
};
const EARLY: Misdeed = Misdeed {
    phrase: "is answered 1s before",
    what: "goes on a second before it is durable, at",
};
const ASKS_ON: Misdeed = Misdeed {
    phrase: "goes on to ask at",
    what: "asks in a pause and after SIGTERM with",
};

/// Where calls are made, and what is known of them.
type Sites = BTreeMap<(RoleName, Shape), Site>;

#[derive(Clone, Copy, Debug, Default)]
struct Site {
    /// Its transaction makes an end, or an accepted job, durable.
    promises: bool,
}

/// One variant for each call site and misdeed.
pub(super) fn wire(
    manifest: &Manifest,
    entries: &[Entry],
    plain: usize,
    others: &[usize],
) -> Vec<Variant> {
    let mut variants = Vec::new();
    for ((role, shape), site) in sites(manifest, entries) {
        for misdeed in misdeeds(manifest, &shape, site) {
            let Misdeed { phrase, what } = misdeed;
            let given = format!(
                "the {role} {phrase} \"{shape}\" of any message every time, if it gets there"
            );
            // Without faults nobody is told to end, and nothing pauses.
            let is_plain = misdeed != ASKS_ON;
            variants.push(Variant {
                kind: Kind::Wire,
                name: format!("the {role} {what} {shape}"),
                what: given.clone(),
                given: vec![given],
                left_out: Vec::new(),
                meant: is_plain.then_some(plain).into_iter().collect(),
                others: others.to_vec(),
                made: None,
            });
        }
    }
    variants
}

fn sites(manifest: &Manifest, entries: &[Entry]) -> Sites {
    let mut sites = Sites::new();
    let mut calls: HashMap<CallId, (RoleName, Shape)> = HashMap::new();
    let accepted = manifest.messages.submit.durable();
    let ends: BTreeSet<&StageName> = manifest.terminal.values().map(|one| &one.stage).collect();
    for entry in entries {
        match &entry.event {
            Event::Called {
                call,
                author,
                shape: Some(shape),
                ..
            } => {
                let by = author.incarnation();
                if let Some(by) = by.filter(|by| by.role.as_str() != OPERATOR) {
                    let site = (by.role.clone(), (**shape).clone());
                    sites.entry(site.clone()).or_default();
                    calls.insert(*call, site);
                }
            }
            Event::Stage { stage, call, .. } if ends.contains(stage) || Some(stage) == accepted => {
                let site = calls.get(call).and_then(|of| sites.get_mut(of));
                if let Some(site) = site {
                    site.promises = true;
                }
            }
            _ => {}
        }
    }
    sites
}

/// What can be done to such a call that breaks a right system.
fn misdeeds(manifest: &Manifest, shape: &Shape, site: Site) -> Vec<Misdeed> {
    let mut misdeeds = match &shape.asked {
        Asked::Request { method, .. } => {
            let dependency = manifest.dependencies.get(&shape.dependency);
            let outside =
                dependency.is_some_and(|one| matches!(one.protocol, Protocol::Http { .. }));
            if outside && !["GET", "HEAD", "OPTIONS"].contains(&method.as_str()) {
                vec![AT_ONCE, LATER, PRETENCE, ALTERED]
            } else {
                Vec::new()
            }
        }
        Asked::Action { action, .. } => match action.as_str() {
            "DeleteMessage" | "DeleteMessageBatch" => vec![PRETENCE],
            "SendMessage" | "SendMessageBatch" => vec![PRETENCE, LATER],
            "ChangeMessageVisibility" | "ChangeMessageVisibilityBatch" => vec![PRETENCE, HIDDEN],
            "ReceiveMessage" => vec![HIDDEN, ASKS_ON],
            _ => Vec::new(),
        },
        // A statement that only reads, or moves a lease, may fail to last in a right system.
        Asked::Statements(statements) if inserts(statements) => vec![PRETENCE, ALTERED],
        Asked::Commit(written) if !written.is_empty() => vec![PRETENCE],
        Asked::Commands(commands) => match commands.as_slice() {
            [command] if is_pretended(command) => vec![PRETENCE],
            _ => Vec::new(),
        },
        Asked::Statements(_) | Asked::Commit(_) => Vec::new(),
    };
    if site.promises && matches!(&shape.asked, Asked::Commit(written) if !written.is_empty()) {
        misdeeds.push(EARLY);
    }
    misdeeds
}

/// Whether a statement puts a row somewhere.
fn inserts(statements: &str) -> bool {
    statements
        .split("; ")
        .any(|one| one.starts_with("insert into"))
}

/// Whether Redis answers a command so that a tap can answer in its place: one that sends a
/// job, takes one off, settles one, or moves a lease.
fn is_pretended(command: &str) -> bool {
    const PRETENDED: [&str; 12] = [
        "DEL", "UNLINK", "HDEL", "ZREM", "SREM", "XDEL", "XACK", "LREM", "LPUSH", "RPUSH", "ZADD",
        "SADD",
    ];
    let name = command.split(' ').next().unwrap_or_default();
    PRETENDED.contains(&name.to_ascii_uppercase().as_str())
}

/// Whether what was set up first, before all faults of the scenario, took place in a try.
pub(super) fn took_place(history: Option<&Path>) -> bool {
    let entries = history.and_then(entries).unwrap_or_default();
    let armed = entries.iter().find_map(|entry| match entry.event {
        Event::Armed { fault, .. } => Some(fault),
        _ => None,
    });
    entries
        .iter()
        .any(|entry| matches!(entry.event, Event::Landed { fault, .. } if Some(fault) == armed))
}

/// The entries of a history.
pub(super) fn entries(history: &Path) -> Option<Vec<Entry>> {
    crate::history::read(history).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story, packer};

    fn asked(asked: Asked) -> Shape {
        Shape {
            dependency: "database".into(),
            asked,
        }
    }

    fn phrases(shape: &Shape, promises: bool) -> Vec<&'static str> {
        let misdeeds = misdeeds(&MANIFEST, shape, Site { promises });
        misdeeds.into_iter().map(|one| one.phrase).collect()
    }

    #[test]
    fn what_makes_a_promise_durable_is_also_answered_too_early() {
        let commit = asked(Asked::Commit("insert into parcels".to_owned()));
        assert_eq!(
            phrases(&commit, true),
            [PRETENCE.phrase, EARLY.phrase],
            "an end is told before it is durable"
        );
        assert_eq!(phrases(&commit, false), [PRETENCE.phrase]);
        assert!(phrases(&asked(Asked::Commit(String::new())), true).is_empty());
        let insert = asked(Asked::Statements("insert into parcels".to_owned()));
        assert_eq!(phrases(&insert, true), [PRETENCE.phrase, ALTERED.phrase]);
        let select = asked(Asked::Statements("select from parcels".to_owned()));
        assert!(phrases(&select, true).is_empty());
    }

    #[test]
    fn a_command_of_redis_is_pretended_where_its_answer_is_known() {
        let of = |command: &str| asked(Asked::Commands(vec![command.to_owned()]));
        assert_eq!(phrases(&of("XACK jobs"), false), [PRETENCE.phrase]);
        assert!(phrases(&of("GET jobs"), false).is_empty());
        let several = Asked::Commands(vec!["LREM jobs".to_owned(), "LPUSH dead".to_owned()]);
        assert!(phrases(&asked(several), false).is_empty());
    }

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
