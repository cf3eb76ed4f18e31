//! Where every message was at the end: derived from what the wires showed, by the names
//! that the manifest gives.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::history::{DeathCause, Entry, Event};
use crate::ids::{DependencyName, Incarnation, MessageName};
use crate::judge::{Account, Evidence, Ledger};
use crate::manifest::{Manifest, Protocol};

/// A part of the system in which messages can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// With the client: never submitted, or refused.
    Client,
    /// Accepted, and no queue took a copy yet.
    Unsent,
    /// In a queue.
    Queue,
    /// In the hand of a process.
    InHand,
    /// In a queue for what was received too often.
    DeadLetters,
    /// At rest outside of all queues.
    Resting,
    /// At an end that the manifest names.
    Ended,
    /// Nowhere: deleted, without an end.
    Nowhere,
    /// What an outside service performed for it.
    Outside,
}

/// A place, and the messages there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// What kind of place.
    pub part: Part,
    /// Its name: a queue, a process, an end, a service.
    pub name: String,
    /// Who is there, each with how often where that is more than once.
    pub messages: Vec<(MessageName, u32)>,
}

/// A copy of a message that lies in a queue.
#[derive(Clone, Debug)]
struct Copy<'e> {
    queue: &'e str,
    hand: Option<(&'e str, &'e Incarnation)>,
}

/// Where every message was when the rehearsal's deployment was ended.
pub(super) fn ended(evidence: Evidence<'_>) -> Vec<Place> {
    let ledger = Ledger::of(evidence);
    let copies = copies(evidence.entries);
    let mut places: BTreeMap<(Part, String), BTreeMap<MessageName, u32>> = BTreeMap::new();
    // What is empty is part of the picture, too.
    for name in evidence.manifest.terminal.keys() {
        places.entry((Part::Ended, name.clone())).or_default();
    }
    for (part, name) in queues(evidence.manifest) {
        places.entry((part, name)).or_default();
    }
    let mut put = |part: Part, name: &str, message: &MessageName| {
        let messages = places.entry((part, name.to_owned())).or_default();
        *messages.entry(message.clone()).or_default() += 1;
    };
    for (message, account) in &ledger.accounts {
        for (part, name) in whereabouts(evidence.manifest, account, &copies) {
            put(part, &name, message);
        }
    }
    for (dependency, message) in performed(evidence.entries) {
        put(Part::Outside, dependency.as_str(), message);
    }
    places
        .into_iter()
        .map(|((part, name), messages)| Place {
            part,
            name,
            messages: messages.into_iter().collect(),
        })
        .collect()
}

fn whereabouts(
    manifest: &Manifest,
    account: &Account,
    copies: &BTreeMap<&str, Copy<'_>>,
) -> Vec<(Part, String)> {
    let latest = account.series.len().saturating_sub(1);
    let mut found: Vec<(Part, String)> = account
        .ends_in(latest)
        .into_iter()
        .map(|(_, end)| (Part::Ended, end.clone()))
        .collect();
    if found.is_empty() && account.rests.is_some() {
        found.push((Part::Resting, String::new()));
    }
    for copy in account.left() {
        let Some(copy) = copies.get(copy.as_str()) else {
            continue;
        };
        found.push(match copy.hand {
            Some((_, holder)) => (Part::InHand, holder.to_string()),
            None => queue_of(manifest, copy.queue),
        });
    }
    if found.is_empty() {
        found.push(if account.accepted.is_none() && account.sent.is_empty() {
            (Part::Client, String::new())
        } else if account.is_sent() {
            (Part::Nowhere, String::new())
        } else {
            (Part::Unsent, String::new())
        });
    }
    found
}

/// The copies that were not deleted, as they lay before the harness ended the deployment.
fn copies(entries: &[Entry]) -> BTreeMap<&str, Copy<'_>> {
    let mut copies: BTreeMap<&str, Copy<'_>> = BTreeMap::new();
    for entry in entries {
        match &entry.event {
            Event::Sent {
                queue, message_id, ..
            } => {
                copies.insert(message_id, Copy { queue, hand: None });
            }
            Event::Delivered {
                queue,
                message_id,
                receipt,
                author,
                ..
            } => {
                let hand = author
                    .incarnation()
                    .map(|holder| (receipt.as_str(), holder));
                copies.insert(message_id, Copy { queue, hand });
            }
            Event::Deleted {
                message_id: Some(copy),
                kept: None | Some(false),
                ..
            } => {
                copies.remove(copy.as_str());
            }
            Event::Expired { receipt, .. }
            | Event::VisibilityChanged {
                receipt,
                seconds: 0,
                ..
            } => {
                let holds =
                    |copy: &&mut Copy<'_>| copy.hand.is_some_and(|(of, _)| of == receipt.as_str());
                if let Some(copy) = copies.values_mut().find(holds) {
                    copy.hand = None;
                }
            }
            Event::Exited {
                incarnation, cause, ..
            } if *cause != DeathCause::Shutdown => {
                for copy in copies.values_mut() {
                    if copy.hand.is_some_and(|(_, holder)| holder == incarnation) {
                        copy.hand = None;
                    }
                }
            }
            _ => {}
        }
    }
    copies
}

fn performed(entries: &[Entry]) -> impl Iterator<Item = (&DependencyName, &MessageName)> {
    entries.iter().filter_map(|entry| match &entry.event {
        Event::Performed {
            dependency,
            write: true,
            message: Some(message),
            ..
        } => Some((dependency, message)),
        _ => None,
    })
}

/// The queues of the manifest, and what kind each is.
fn queues(manifest: &Manifest) -> Vec<(Part, String)> {
    let of_dependency =
        manifest
            .dependencies
            .values()
            .filter_map(|dependency| match &dependency.protocol {
                Protocol::Sqs { queues, .. } => Some(queues),
                _ => None,
            });
    let (mut names, mut dead) = (Vec::new(), BTreeSet::new());
    for queues in of_dependency {
        for (name, queue) in queues {
            names.push(name.clone());
            dead.extend(queue.dead_letter.iter().map(|target| target.queue.clone()));
        }
    }
    names
        .into_iter()
        .map(|name| {
            let part = if dead.contains(&name) {
                Part::DeadLetters
            } else {
                Part::Queue
            };
            (part, name)
        })
        .collect()
}

/// A queue by its name at the server, which begins with the rehearsal's own prefix.
pub(super) fn queue_of(manifest: &Manifest, at_server: &str) -> (Part, String) {
    let mut known = queues(manifest);
    known.retain(|(_, name)| {
        let rest = at_server.strip_suffix(".fifo").unwrap_or(at_server);
        let name = name.strip_suffix(".fifo").unwrap_or(name);
        rest == name
            || rest
                .strip_suffix(name)
                .is_some_and(|left| left.ends_with('-'))
    });
    known
        .into_iter()
        .max_by_key(|(_, name)| name.len())
        .unwrap_or_else(|| (Part::Queue, at_server.to_owned()))
}
