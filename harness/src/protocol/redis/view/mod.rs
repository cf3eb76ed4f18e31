//! What becomes of each element of a queue, by what passes the taps.
//!
//! Redis knows no receipts: which element was taken, is worked on, was given back or is done
//! follows from the keys that it stands in. All taps of a rehearsal share one view.
//!
//! ```text
//! pushed ──▶ waiting ──popped, read, claimed──▶ in hand / processing ──removed──▶ done
//!               ▲                                      │
//!               └──────────── pushed back ◀────────────┘
//! ```
//!
//! A push and a move are noted before they are forwarded: another process may pop what they put
//! into a queue before their own answers are seen.

mod apply;
mod copy;
mod moves;
mod scores;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use indexmap::IndexMap;

pub(crate) use self::copy::Orphan;
use self::copy::{At, Copy};
use self::moves::{Moving, Outrun};
use super::call::{RedisReply, RedisRequest};
use super::command::Command;
use super::queue::{Kind, RedisQueue};
use crate::ids::{Author, CallId, ConnectionId};
pub use crate::protocol::queue::{Item, QueueEffect};

/// The queues of one rehearsal, element by element.
#[derive(Debug, Default)]
pub(crate) struct View {
    queues: IndexMap<String, RedisQueue>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// All that are not done, in the order in which they became known.
    copies: Vec<Copy>,
    named: u64,
    /// Entries of streams that are done: their adding may be answered later.
    done: HashSet<String>,
    /// On which connections pops were made whose elements are in no key.
    popped_on: HashMap<CallId, ConnectionId>,
    /// Moves that are not answered yet.
    moving: Vec<Moving>,
    /// What some of them did, as was seen before their answers.
    outrun: Vec<Outrun>,
    /// The scores of members of sorted sets.
    scores: HashMap<(Bytes, Bytes), f64>,
}

impl View {
    pub(crate) fn new(queues: IndexMap<String, RedisQueue>) -> Self {
        Self {
            queues,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is about to be forwarded.
    pub(super) fn sending(&self, author: &Author, call: CallId, request: &RedisRequest) {
        if self.queues.is_empty() {
            return;
        }
        let removed = Self::removed(request);
        let mut state = self.state();
        for command in &request.commands {
            for (queue, text) in self.pushed(command) {
                state.push(queue, text, (author, call), &removed);
            }
            state.moves(call, command);
        }
    }

    /// It never reached the dependency, or had no effect.
    pub(super) fn unsent(&self, call: CallId) {
        self.state().undo(call);
    }

    /// It was answered.
    pub(super) fn answered(
        &self,
        author: &Author,
        (call, connection): (CallId, ConnectionId),
        request: &RedisRequest,
        reply: &RedisReply,
    ) -> Vec<QueueEffect> {
        if self.queues.is_empty() {
            return Vec::new();
        }
        let mut state = self.state();
        let mut effects = self.let_go(&mut state, (author, connection), request);
        effects.extend(self.apply(&mut state, (author, call), request, reply));
        let popped = |copy: &&Copy| copy.at == At::Hand(call);
        if state.copies.iter().any(|copy| popped(&copy)) {
            state.popped_on.insert(call, connection);
        }
        state.undo(call);
        effects
    }

    /// The harness itself puts an element on a queue; what it is called.
    pub(crate) fn put(&self, queue: &RedisQueue, text: &Bytes) -> String {
        let mut state = self.state();
        let copy = state.new_copy(queue, text.clone());
        let id = copy.id.clone();
        state.copies.push(Copy {
            at: At::Waiting,
            ..copy
        });
        id
    }

    /// The harness itself added an entry to a stream.
    pub(crate) fn put_entry(&self, queue: &RedisQueue, entry: &Bytes) -> String {
        self.state().entry(queue, entry, Vec::new()).id.clone()
    }

    /// How many elements wait in a queue, as far as was seen: what was popped waits until the
    /// answer is seen.
    pub(crate) fn waiting(&self, queue: &RedisQueue) -> i64 {
        let name = queue.name();
        let state = self.state();
        let waits =
            |copy: &&Copy| copy.queue == name && copy.at == At::Waiting && copy.pushing.is_none();
        let count = state.copies.iter().filter(waits).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    /// Who had an element is gone; what is to be done about it.
    pub(crate) fn orphaned(&self, receipt: &str) -> Orphan {
        self.state().orphan(receipt)
    }

    /// Who asks for more on the same connection has not kept what it popped there before.
    fn let_go(
        &self,
        state: &mut State,
        (author, connection): (&Author, ConnectionId),
        request: &RedisRequest,
    ) -> Vec<QueueEffect> {
        let mut effects = Vec::new();
        let asked: Vec<String> = request
            .commands
            .iter()
            .filter(|command| command.is_receive())
            .flat_map(Command::keys)
            .filter_map(|key| self.queue_at(key))
            .map(RedisQueue::name)
            .collect();
        if asked.is_empty() {
            return effects;
        }
        let left = state.copies.iter().filter(|copy| match copy.at {
            At::Hand(popped) => {
                copy.owner.as_ref() == Some(author)
                    && asked.contains(&copy.queue)
                    && state.popped_on.get(&popped) == Some(&connection)
            }
            _ => false,
        });
        let left: Vec<String> = left.map(|copy| copy.id.clone()).collect();
        for id in left {
            state.done(&id, &mut effects);
        }
        effects
    }

    fn queue_at(&self, key: &[u8]) -> Option<&RedisQueue> {
        self.queues
            .values()
            .find(|queue| queue.key().as_bytes() == key)
    }

    /// The queues whose elements are at this key while somebody works on them.
    fn processed_at(&self, key: &[u8]) -> Vec<&RedisQueue> {
        let key = String::from_utf8_lossy(key);
        let is = |queue: &&RedisQueue| {
            let mut keys = queue.processing.iter();
            keys.any(|pattern| pattern.matches(&key).is_some())
        };
        self.queues.values().filter(is).collect()
    }

    /// The queue whose claim this key is, and the id in it.
    fn claimed_by(&self, key: &[u8]) -> Option<(&RedisQueue, String)> {
        let key = String::from_utf8_lossy(key);
        self.queues.values().find_map(|queue| match &queue.kind {
            Kind::Sorted {
                claim: Some(pattern),
                ..
            } => Some((queue, pattern.matches(&key)?.unwrap_or_default())),
            _ => None,
        })
    }

    /// The elements that a command pushes to queues.
    fn pushed(&self, command: &Command) -> Vec<(&RedisQueue, Bytes)> {
        let key = command.keys().first().map(|key| (*key).clone());
        let Some(queue) = key.and_then(|key| self.queue_at(&key)) else {
            return Vec::new();
        };
        let elements: Vec<Bytes> = match (command.name.as_str(), &queue.kind) {
            ("LPUSH" | "RPUSH" | "LPUSHX" | "RPUSHX", Kind::List { .. }) => {
                command.values().into_iter().cloned().collect()
            }
            ("LINSERT", Kind::List { .. }) => {
                command.arguments.last().cloned().into_iter().collect()
            }
            ("ZADD", Kind::Sorted { .. }) => command
                .scored()
                .into_iter()
                .map(|(member, _)| member)
                .collect(),
            _ => Vec::new(),
        };
        elements
            .into_iter()
            .map(|element| (queue, element))
            .collect()
    }

    /// What a request takes away by name, with the key that it stood at.
    fn removed(request: &RedisRequest) -> Vec<(Bytes, Bytes)> {
        let commands = request.commands.iter();
        commands.flat_map(removals).collect()
    }
}

/// What a command takes away by name, with the key that it stood at.
fn removals(command: &Command) -> Vec<(Bytes, Bytes)> {
    let Some(key) = command.arguments.first() else {
        return Vec::new();
    };
    let from = match command.name.as_str() {
        "LREM" => 2,
        "ZREM" | "SREM" | "HDEL" => 1,
        _ => return Vec::new(),
    };
    let handles = command.arguments.iter().skip(from);
    handles
        .map(|handle| (key.clone(), handle.clone()))
        .collect()
}
