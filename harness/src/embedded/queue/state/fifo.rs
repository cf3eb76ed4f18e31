//! What a FIFO queue knows beyond a standard one: which message of a group is next, which
//! groups are held up, and what was sent already.
//!
//! A group is open while none of its messages is in flight and its first one is on show.
//! Only open groups are received from, each from its first message on.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::moment::Moment;
use super::super::receipt::Receipt;

/// How long a deduplication id, or the id of an attempt to receive, is remembered.
pub(super) const WINDOW: Duration = Duration::from_mins(5);

/// The first sequence number: twenty digits, as those of AWS.
const FIRST_SEQUENCE: u128 = 18_849_496_460_467_696_128;

/// Order and deduplication of one queue.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Fifo {
    sent: Remembered<Sent>,
    attempts: Remembered<Vec<Receipt>>,
    numbered: u64,
    #[serde(skip)]
    groups: BTreeMap<String, Group>,
    /// The first message of each open group, and the group.
    #[serde(skip)]
    open: BTreeMap<u64, String>,
}

/// A message as its sender knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    pub(crate) id: Uuid,
    /// Only messages of FIFO queues have one.
    pub(crate) sequence: Option<String>,
}

#[derive(Debug, Default)]
struct Group {
    members: BTreeSet<u64>,
    in_flight: usize,
    open_as: Option<u64>,
}

impl Fifo {
    /// The next sequence number.
    pub(super) fn number(&mut self) -> String {
        self.numbered += 1;
        (FIRST_SEQUENCE + u128::from(self.numbered) * 256).to_string()
    }

    /// The message that was sent under this deduplication id a short while ago.
    pub(super) fn sent_before(&mut self, id: &str, now: Moment) -> Option<Sent> {
        self.sent.get(id, now).cloned()
    }

    pub(super) fn remember_sent(&mut self, id: String, sent: Sent, now: Moment) {
        self.sent.put(id, sent, now);
    }

    /// Does what the end of the window would do to the ids of this message.
    pub(super) fn forget_sent(&mut self, message: Uuid) -> bool {
        self.sent.forget(|sent| sent.id == message)
    }

    /// What an attempt to receive with this id got a short while ago.
    pub(super) fn attempt(&mut self, id: &str, now: Moment) -> Option<Vec<Receipt>> {
        self.attempts.get(id, now).cloned()
    }

    pub(super) fn remember_attempt(&mut self, id: String, got: Vec<Receipt>, now: Moment) {
        self.attempts.put(id, got, now);
    }

    pub(super) fn enter(&mut self, group: &str, key: u64) {
        let group = self.groups.entry(group.to_owned()).or_default();
        group.members.insert(key);
    }

    pub(super) fn leave(&mut self, group: &str, key: u64) {
        if let Some(found) = self.groups.get_mut(group) {
            found.members.remove(&key);
        }
    }

    pub(super) fn went_in_flight(&mut self, group: &str) {
        if let Some(group) = self.groups.get_mut(group) {
            group.in_flight += 1;
        }
    }

    pub(super) fn came_back(&mut self, group: &str) {
        if let Some(group) = self.groups.get_mut(group) {
            group.in_flight = group.in_flight.saturating_sub(1);
        }
    }

    /// Looks whether a group is open now. Returns how many messages it can give if it was
    /// not open before, or has another first message.
    pub(super) fn refresh(&mut self, name: &str, on_show: impl Fn(u64) -> bool) -> usize {
        let Some(group) = self.groups.get_mut(name) else {
            return 0;
        };
        let first = group.members.first().copied();
        let opens_as = first.filter(|key| group.in_flight == 0 && on_show(*key));
        let was_open_as = std::mem::replace(&mut group.open_as, opens_as);
        let members = group.members.len();
        if members == 0 {
            self.groups.remove(name);
        }
        if was_open_as == opens_as {
            return 0;
        }
        if let Some(key) = was_open_as {
            self.open.remove(&key);
        }
        opens_as.map_or(0, |key| {
            self.open.insert(key, name.to_owned());
            members
        })
    }

    /// The open group whose first message follows this one.
    pub(super) fn open_after(&self, key: u64) -> Option<(u64, &str)> {
        let mut following = self.open.range((Excluded(key), Unbounded));
        following.next().map(|(key, group)| (*key, group.as_str()))
    }

    /// The message of a group that follows this one.
    pub(super) fn member_after(&self, group: &str, key: u64) -> Option<u64> {
        let members = &self.groups.get(group)?.members;
        members.range((Excluded(key), Unbounded)).next().copied()
    }
}

/// What is remembered under an id, for the length of the window.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered<T> {
    by_id: BTreeMap<String, (Moment, T)>,
    /// Oldest first. One whose moment is not that of its id is out of date.
    ages: VecDeque<(Moment, String)>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self {
            by_id: BTreeMap::new(),
            ages: VecDeque::new(),
        }
    }
}

impl<T> Remembered<T> {
    fn get(&mut self, id: &str, now: Moment) -> Option<&T> {
        self.drop_old(now);
        self.by_id.get(id).map(|(_, what)| what)
    }

    fn put(&mut self, id: String, what: T, now: Moment) {
        self.drop_old(now);
        self.ages.push_back((now, id.clone()));
        self.by_id.insert(id, (now, what));
    }

    fn forget(&mut self, which: impl Fn(&T) -> bool) -> bool {
        let before = self.by_id.len();
        self.by_id.retain(|_, (_, what)| !which(what));
        self.by_id.len() < before
    }

    fn drop_old(&mut self, now: Moment) {
        while let Some((at, id)) = self.ages.front() {
            if at.plus(WINDOW) > now {
                return;
            }
            if self.by_id.get(id).is_some_and(|(since, _)| since == at) {
                self.by_id.remove(id);
            }
            self.ages.pop_front();
        }
    }
}
