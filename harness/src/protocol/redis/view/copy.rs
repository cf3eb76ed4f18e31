//! One element of a queue, and where it is.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::super::queue::{Kind, RedisQueue};
use super::super::subject::entry_id;
use super::{Item, QueueEffect, State};
use crate::ids::{Author, CallId};

/// Shorter texts stand in others by chance.
const SHORTEST_WITHIN: usize = 4;

/// One element that is not done.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) id: String,
    /// The queue's name at its dependency.
    pub(super) queue: String,
    pub(super) text: Bytes,
    pub(super) fields: Vec<(Bytes, Bytes)>,
    pub(super) entry: Option<Bytes>,
    pub(super) at: At,
    /// The push that is under way, and where it was before.
    pub(super) pushing: Option<(CallId, Option<At>)>,
    /// How often it was delivered.
    pub(super) deliveries: u32,
    /// Who got it last; none once that one is gone.
    pub(super) owner: Option<Author>,
}

/// Where an element is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum At {
    /// In its queue, or on its way there.
    Waiting,
    /// Popped by this call, and in no key.
    Hand(CallId),
    /// At these keys, by these names.
    Processing(BTreeSet<(Bytes, Bytes)>),
    /// In its sorted set, with a claim at this key.
    Claimed(Bytes),
    /// Read by this consumer of this group, and not acknowledged.
    Read {
        stream: Bytes,
        group: Bytes,
        consumer: Bytes,
    },
}

/// What is to be done about an element whose owner is gone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Orphan {
    /// Nothing: it is where the system itself will find it.
    Stays,
    /// It is gone, since this call took it.
    Lost(CallId),
    /// What makes it visible, as time would.
    Ask(Vec<Bytes>),
}

impl Copy {
    pub(super) fn item(&self) -> Item {
        Item {
            queue: self.queue.clone(),
            copy: self.id.clone(),
            text: self.text.clone(),
            fields: self.fields.clone(),
            entry: self.entry.clone(),
        }
    }

    pub(super) fn receipt(&self) -> String {
        format!("{}~{}", self.id, self.deliveries)
    }

    /// It is handed over.
    pub(super) fn deliver(&mut self, author: &Author, at: At) -> QueueEffect {
        self.deliveries += 1;
        self.owner = Some(author.clone());
        self.at = at;
        QueueEffect::Delivered(self.item(), self.receipt())
    }

    /// Whether a name or a content that stands somewhere else means this element.
    pub(super) fn is_meant_by(&self, other: &[u8]) -> bool {
        self.text == other || stands_in(&self.text, other) || stands_in(other, &self.text)
    }
}

/// Whether a text stands in a longer one, by itself.
fn stands_in(short: &[u8], long: &[u8]) -> bool {
    if short.len() < SHORTEST_WITHIN || short.len() >= long.len() {
        return false;
    }
    let word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    (0..=long.len() - short.len()).any(|at| {
        long[at..].starts_with(short)
            && !word(at.checked_sub(1).and_then(|before| long.get(before)))
            && !word(long.get(at + short.len()))
    })
}

impl State {
    pub(super) fn new_copy(&mut self, queue: &RedisQueue, text: Bytes) -> Copy {
        self.named += 1;
        Copy {
            id: format!("{}-{}", queue.name(), self.named),
            queue: queue.name(),
            text,
            fields: Vec::new(),
            entry: None,
            at: At::Waiting,
            pushing: None,
            deliveries: 0,
            owner: None,
        }
    }

    /// An element is about to be pushed: back, if it is in the hands of whoever pushes, or of
    /// nobody alive, or if the same call takes it from where it is; else a new one.
    pub(super) fn push(
        &mut self,
        queue: &RedisQueue,
        text: Bytes,
        (author, call): (&Author, CallId),
        removed: &[(Bytes, Bytes)],
    ) {
        let name = queue.name();
        let is_set = matches!(queue.kind, Kind::Sorted { .. });
        let free = |copy: &&mut Copy| copy.pushing.is_none() && copy.text == text;
        let there = |copy: &Copy| copy.queue == name && copy.at == At::Waiting;
        let known = |copy: &Copy| there(copy) || matches!(copy.at, At::Claimed(_));
        if is_set
            && self
                .copies
                .iter()
                .any(|copy| copy.text == text && known(copy))
        {
            return;
        }
        let back = self
            .copies
            .iter_mut()
            .filter(free)
            .find(|copy| match &copy.at {
                At::Hand(_) => copy.owner.as_ref().is_none_or(|owner| owner == author),
                At::Processing(places) => {
                    copy.owner.as_ref().is_none_or(|owner| owner == author)
                        || removed.iter().any(|removed| places.contains(removed))
                }
                At::Waiting => {
                    copy.queue != name && removed.iter().any(|(_, handle)| *handle == text)
                }
                At::Claimed(_) | At::Read { .. } => false,
            });
        if let Some(copy) = back {
            copy.pushing = Some((call, Some(copy.at.clone())));
            copy.at = At::Waiting;
            return;
        }
        let mut copy = self.new_copy(queue, text);
        copy.pushing = Some((call, None));
        self.copies.push(copy);
    }

    /// Takes back what a call was about to push and did not.
    pub(super) fn undo(&mut self, call: CallId) {
        self.moves_no_more(call);
        self.copies.retain_mut(|copy| {
            let Some((_, before)) = copy.pushing.take_if(|(by, _)| *by == call) else {
                return true;
            };
            match before {
                Some(at) => copy.at = at,
                // Somebody has it already: it must have been pushed.
                None => return copy.deliveries > 0,
            }
            true
        });
    }

    /// The entry of a stream, made known if it is not.
    pub(super) fn entry(
        &mut self,
        queue: &RedisQueue,
        entry: &Bytes,
        fields: Vec<(Bytes, Bytes)>,
    ) -> &mut Copy {
        let name = queue.name();
        let is = |copy: &Copy| copy.queue == name && copy.entry.as_ref() == Some(entry);
        let place = self.copies.iter().position(is).unwrap_or_else(|| {
            let mut copy = self.new_copy(queue, Bytes::new());
            copy.id = entry_id(queue.key().as_bytes(), entry);
            copy.entry = Some(entry.clone());
            self.copies.push(copy);
            self.copies.len() - 1
        });
        let copy = &mut self.copies[place];
        if copy.fields.is_empty() {
            copy.fields = fields;
        }
        copy
    }

    pub(super) fn orphan(&mut self, receipt: &str) -> Orphan {
        let is = |copy: &Copy| copy.deliveries > 0 && copy.receipt() == receipt;
        let Some(place) = self.copies.iter().position(is) else {
            return Orphan::Stays;
        };
        let copy = &mut self.copies[place];
        copy.owner = None;
        match copy.at.clone() {
            At::Waiting | At::Processing(_) => Orphan::Stays,
            At::Hand(call) => {
                self.copies.remove(place);
                Orphan::Lost(call)
            }
            At::Claimed(key) => {
                copy.at = At::Waiting;
                Orphan::Ask(vec![Bytes::from_static(b"DEL"), key])
            }
            At::Read {
                stream,
                group,
                consumer,
            } => {
                let entry = copy.entry.clone().unwrap_or_default();
                let words: [&'static [u8]; 5] = [b"XCLAIM", b"0", b"IDLE", LONG_IDLE, b"JUSTID"];
                let [claim, none, idle, long, ids] = words.map(Bytes::from_static);
                Orphan::Ask(vec![
                    claim, stream, group, consumer, none, entry, idle, long, ids,
                ])
            }
        }
    }
}

/// As if it had been read so many milliseconds ago.
const LONG_IDLE: &[u8] = b"10000000000";
