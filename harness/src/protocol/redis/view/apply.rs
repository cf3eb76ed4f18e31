//! What an answer says of the elements of queues.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::super::call::{RedisReply, RedisRequest};
use super::super::command::Command;
use super::super::elements::Element;
use super::super::queue::{Kind, RedisQueue};
use super::super::value::Value;
use super::copy::{At, Copy};
use super::{QueueEffect, State, View, moves, removals};
use crate::ids::{Author, CallId};

/// Commands that change no element of a queue, though they write.
const HARMLESS: &[&str] = &[
    "EXPIRE",
    "PEXPIRE",
    "EXPIREAT",
    "PEXPIREAT",
    "PERSIST",
    "XGROUP",
    "ZINCRBY",
    "XTRIM",
];
/// Commands whose effects are followed.
const FOLLOWED: &[&str] = &[
    "LPUSH",
    "RPUSH",
    "LPUSHX",
    "RPUSHX",
    "LINSERT",
    "ZADD",
    "SADD",
    "HSET",
    "HMSET",
    "HSETNX",
    "LREM",
    "ZREM",
    "SREM",
    "HDEL",
    "DEL",
    "UNLINK",
    "SET",
    "SETEX",
    "PSETEX",
    "SETNX",
    "GETDEL",
    "XADD",
    "XACK",
    "XDEL",
    "ZREMRANGEBYSCORE",
];

type By<'b> = (&'b Author, CallId);

impl View {
    /// What was added comes before what was taken away: within a transaction nobody sees
    /// the one without the other.
    pub(super) fn apply(
        &self,
        state: &mut State,
        by: By<'_>,
        request: &RedisRequest,
        reply: &RedisReply,
    ) -> Vec<QueueEffect> {
        let mut effects = Vec::new();
        let done: Vec<(&Command, &Value)> = request.effective(reply).collect();
        for (command, answer) in &done {
            for (queue, text) in self.pushed(command) {
                effects.extend(state.arrived(queue, &text, by));
            }
            self.taken(state, by, command, answer, &mut effects);
            self.of_streams(state, by, command, answer, &mut effects);
            self.claimed(state, by, command, &mut effects);
            self.scored(state, command, answer);
            self.placed(state, by, command);
            effects.extend(self.unseen(command));
        }
        for (command, answer) in &done {
            for (key, handle) in removals(command) {
                self.gone(state, by, (&key, &handle), answer, &mut effects);
            }
            for (key, member) in state.in_range(command) {
                let once = Value::Integer(1);
                self.gone(state, by, (&key, &member), &once, &mut effects);
            }
        }
        for (command, _) in &done {
            if matches!(command.name.as_str(), "DEL" | "UNLINK" | "GETDEL") {
                for key in command.keys() {
                    self.key_gone(state, key, &mut effects);
                }
            }
        }
        effects
    }

    /// What a command did to queues that nothing tells.
    fn unseen(&self, command: &Command) -> Option<QueueEffect> {
        let name = command.name.as_str();
        if command.is_read()
            || command.is_receive()
            || HARMLESS.contains(&name)
            || FOLLOWED.contains(&name)
        {
            return None;
        }
        let keys = command.keys();
        let touched = self.queues.iter().find(|(_, queue)| {
            keys.iter().any(|key| {
                let text = String::from_utf8_lossy(key);
                let mut processing = queue.processing.iter();
                queue.key().as_bytes() == key.as_ref()
                    || processing.any(|pattern| pattern.matches(&text).is_some())
            })
        });
        let everything = matches!(name, "FLUSHALL" | "FLUSHDB" | "SWAPDB");
        let queue = touched.map(|(queue, _)| queue);
        let queue = queue.or_else(|| self.queues.keys().next().filter(|_| everything))?;
        Some(QueueEffect::Unseen {
            queue: queue.clone(),
            command: name.to_owned(),
        })
    }

    /// Elements that were popped, or moved.
    fn taken(
        &self,
        state: &mut State,
        by: By<'_>,
        command: &Command,
        answer: &Value,
        effects: &mut Vec<QueueEffect>,
    ) {
        if command.name.starts_with('X') {
            return;
        }
        let to = moves::ends(command).map(|(_, to)| to);
        for Element { key, text, .. } in command.received(answer) {
            if let Some(outrun) = Self::outrun(state, by.1, &text) {
                effects.extend(outrun);
                continue;
            }
            let onward = to.as_ref().and_then(|to| self.queue_at(to));
            if let Some(queue) = self.queue_at(&key) {
                effects.extend(match onward {
                    Some(onward) if onward.key() != queue.key() => {
                        state.moved(queue, onward, &text)
                    }
                    Some(_) => Vec::new(),
                    None => {
                        let kept = to.clone().filter(|to| {
                            let at = self.processed_at(to);
                            at.iter().any(|one| one.key() == queue.key())
                        });
                        state.popped(queue, &text, by, kept)
                    }
                });
                continue;
            }
            if self.processed_at(&key).is_empty() {
                continue;
            }
            let known = state.processing(&key, &text);
            let Some(place) = known.or_else(|| self.handed_over(state, &key, &text)) else {
                continue;
            };
            let copy = &mut state.copies[place];
            match (onward, &to) {
                // From where it was worked on, back to a queue.
                (Some(queue), _) => {
                    copy.at = At::Waiting;
                    copy.queue = queue.name();
                    copy.owner = None;
                    if known.is_some() {
                        effects.push(QueueEffect::Released(copy.receipt()));
                    }
                }
                (None, Some(to)) if !self.processed_at(to).is_empty() => {
                    effects.push(copy.deliver(by.0, at_key(to, &text)));
                }
                (None, _) => state.leaves(place, (&key, &text), effects),
            }
        }
    }

    fn of_streams(
        &self,
        state: &mut State,
        (author, _): By<'_>,
        command: &Command,
        answer: &Value,
        effects: &mut Vec<QueueEffect>,
    ) {
        let key = command.keys().first().map(|key| (*key).clone());
        let group = |queue: &&RedisQueue, wanted: Option<&Bytes>| {
            matches!(&queue.kind, Kind::Stream { group, .. }
                if wanted.is_none_or(|wanted| group.as_bytes() == wanted))
        };
        let of = |key: &Bytes, wanted: Option<&Bytes>| -> Vec<&RedisQueue> {
            let at = self
                .queues
                .values()
                .filter(|queue| queue.key().as_bytes() == key);
            at.filter(|queue| group(queue, wanted)).collect()
        };
        let (at_group, consumer) = match command.name.as_str() {
            "XREADGROUP" => (command.option("GROUP").map(|at| at + 1), 1),
            "XCLAIM" | "XAUTOCLAIM" | "XACK" => (Some(1), 1),
            _ => (None, 0),
        };
        let named = at_group.and_then(|at| command.arguments.get(at)).cloned();
        match command.name.as_str() {
            "XADD" => {
                let (Some(key), Some(entry), Some((_, fields))) =
                    (key, answer.text(), command.added())
                else {
                    return;
                };
                for queue in of(&key, None) {
                    let copy = state.entry(queue, entry, fields.clone());
                    let (item, id) = (copy.item(), copy.id.clone());
                    effects.push(QueueEffect::Sent(item));
                    if state.done.contains(&id) {
                        state.copies.retain(|copy| copy.id != id);
                    }
                }
            }
            "XREADGROUP" | "XCLAIM" | "XAUTOCLAIM" => {
                let consumer = at_group.and_then(|at| command.arguments.get(at + consumer));
                let consumer = consumer.cloned().unwrap_or_default();
                let unacknowledged = command.option("NOACK").is_none();
                for element in command.received(answer) {
                    let Some(entry) = &element.entry else {
                        continue;
                    };
                    for queue in of(&element.key, named.as_ref()) {
                        let copy = state.entry(queue, entry, element.fields.clone());
                        let at = At::Read {
                            stream: element.key.clone(),
                            group: named.clone().unwrap_or_default(),
                            consumer: consumer.clone(),
                        };
                        effects.push(copy.deliver(author, at));
                        if !unacknowledged {
                            let id = copy.id.clone();
                            state.done(&id, effects);
                        }
                    }
                }
            }
            "XACK" | "XDEL" => {
                let Some(key) = key else { return };
                for part in command.parts() {
                    for queue in of(&key, named.as_ref()) {
                        let name = queue.name();
                        let known = state.copies.iter().find(|copy| {
                            copy.queue == name
                                && copy.entry == part.entry
                                && (command.name == "XDEL" || matches!(copy.at, At::Read { .. }))
                        });
                        if let Some(id) = known.map(|copy| copy.id.clone()) {
                            state.done(&id, effects);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// A claim on a member of a sorted set.
    fn claimed(
        &self,
        state: &mut State,
        (author, _): By<'_>,
        command: &Command,
        effects: &mut Vec<QueueEffect>,
    ) {
        if !matches!(command.name.as_str(), "SET" | "SETEX" | "PSETEX" | "SETNX") {
            return;
        }
        for key in command.keys() {
            let Some((queue, id)) = self.claimed_by(key) else {
                continue;
            };
            let name = queue.name();
            let meant = |copy: &&mut Copy| copy.queue == name && copy.is_meant_by(id.as_bytes());
            let known = state
                .copies
                .iter()
                .any(|copy| copy.queue == name && copy.is_meant_by(id.as_bytes()));
            if !known {
                let copy = state.new_copy(queue, Bytes::from(id.clone()));
                state.copies.push(copy);
            }
            if let Some(copy) = state.copies.iter_mut().find(meant) {
                let held = At::Claimed(key.clone());
                if copy.at != held || copy.owner.as_ref() != Some(author) {
                    effects.push(copy.deliver(author, held));
                }
            }
        }
    }

    /// What is put where elements are worked on.
    fn placed(&self, state: &mut State, (author, _): By<'_>, command: &Command) {
        let Some(key) = command.keys().first().map(|key| (*key).clone()) else {
            return;
        };
        let queues: Vec<String> = self
            .processed_at(&key)
            .iter()
            .map(|one| one.name())
            .collect();
        if queues.is_empty() {
            return;
        }
        let put: Vec<(Bytes, Bytes)> = match command.name.as_str() {
            "LPUSH" | "RPUSH" | "SADD" => {
                let values = command.values().into_iter();
                values.map(|value| (value.clone(), value.clone())).collect()
            }
            "ZADD" => {
                let members = command.scored().into_iter();
                members
                    .map(|(member, _)| (member.clone(), member))
                    .collect()
            }
            "HSET" | "HMSET" | "HSETNX" => {
                let parts = command.parts();
                let fields: Vec<Bytes> = match parts.first() {
                    Some(part) if !part.fields.is_empty() => part
                        .fields
                        .iter()
                        .flat_map(|(a, b)| [a.clone(), b.clone()])
                        .collect(),
                    Some(part) => part.texts.clone(),
                    None => Vec::new(),
                };
                let pairs = fields.chunks_exact(2);
                pairs
                    .map(|pair| (pair[0].clone(), pair[1].clone()))
                    .collect()
            }
            _ => return,
        };
        for (handle, content) in put {
            let meant = |copy: &&mut Copy| {
                queues.contains(&copy.queue)
                    && copy.owner.as_ref() == Some(author)
                    && matches!(copy.at, At::Hand(_) | At::Processing(_))
                    && (copy.is_meant_by(&handle) || copy.is_meant_by(&content))
            };
            if let Some(copy) = state.copies.iter_mut().find(meant) {
                let mut places = match std::mem::replace(&mut copy.at, At::Waiting) {
                    At::Processing(places) => places,
                    _ => BTreeSet::new(),
                };
                places.insert((key.clone(), handle));
                copy.at = At::Processing(places);
            }
        }
    }

    /// Something was taken away by name.
    fn gone(
        &self,
        state: &mut State,
        (author, call): By<'_>,
        (key, handle): (&Bytes, &Bytes),
        answer: &Value,
        effects: &mut Vec<QueueEffect>,
    ) {
        let times = match answer {
            Value::Integer(times) => usize::try_from(*times).unwrap_or(0),
            _ => 1,
        };
        for _ in 0..times {
            let Some(place) = state.processing(key, handle) else {
                break;
            };
            state.leaves(place, (key, handle), effects);
        }
        let Some(queue) = self.queue_at(key) else {
            return;
        };
        let name = queue.name();
        let is = |copy: &Copy| {
            copy.queue == name
                && copy.text == *handle
                && matches!(copy.at, At::Waiting | At::Claimed(_))
        };
        let Some(place) = state.copies.iter().position(is) else {
            return;
        };
        // Who takes a member out of a set that knows no claims takes it to work on it.
        if matches!(&queue.kind, Kind::Sorted { claim: None, .. }) {
            effects.extend(state.popped(queue, handle, (author, call), None));
            return;
        }
        let id = state.copies[place].id.clone();
        state.done(&id, effects);
    }

    /// A whole key was taken away.
    fn key_gone(&self, state: &mut State, key: &Bytes, effects: &mut Vec<QueueEffect>) {
        for copy in &mut state.copies {
            if copy.at == At::Claimed(key.clone()) {
                copy.at = At::Waiting;
                copy.owner = None;
                effects.push(QueueEffect::Released(copy.receipt()));
            }
        }
        if let Some(queue) = self.queue_at(key) {
            let name = queue.name();
            let there = state.copies.iter().filter(|copy| {
                copy.queue == name && !matches!(copy.at, At::Processing(_) | At::Hand(_))
            });
            let ids: Vec<String> = there.map(|copy| copy.id.clone()).collect();
            for id in ids {
                state.done(&id, effects);
            }
        }
        loop {
            let at = state.copies.iter().position(|copy| match &copy.at {
                At::Processing(places) => places.iter().any(|(at, _)| at == key),
                _ => false,
            });
            let Some(place) = at else { break };
            let At::Processing(places) = &mut state.copies[place].at else {
                break;
            };
            places.retain(|(at, _)| at != key);
            if places.is_empty() {
                let id = state.copies[place].id.clone();
                state.done(&id, effects);
            }
        }
    }
}

impl State {
    /// A push was answered.
    fn arrived(
        &mut self,
        queue: &RedisQueue,
        text: &Bytes,
        (_, call): By<'_>,
    ) -> Option<QueueEffect> {
        let of_call = |copy: &&mut Copy| {
            copy.text == *text && copy.pushing.as_ref().is_some_and(|(by, _)| *by == call)
        };
        let copy = self.copies.iter_mut().find(of_call)?;
        let (_, before) = copy.pushing.take()?;
        match before {
            // From one queue to another.
            Some(At::Waiting) => {
                copy.queue = queue.name();
                Some(QueueEffect::Sent(copy.item()))
            }
            Some(_) => {
                let receipt = copy.receipt();
                if copy.at == At::Waiting {
                    copy.owner = None;
                    copy.queue = queue.name();
                    return Some(QueueEffect::Released(receipt));
                }
                // Somebody has it again, which ended the delivery before.
                None
            }
            None => Some(QueueEffect::Sent(copy.item())),
        }
    }

    /// The element of a queue that is taken first, made known if it is not.
    fn waiting(&mut self, queue: &RedisQueue, text: &Bytes) -> usize {
        let name = queue.name();
        let is = |copy: &Copy| copy.at == At::Waiting && copy.text == *text && copy.queue == name;
        let settled = |copy: &Copy| is(copy) && copy.pushing.is_none();
        let found = self.copies.iter().position(settled);
        // One that is being pushed to this queue may stand under the queue it comes from.
        let pushed = |copy: &Copy| {
            let comes = copy
                .pushing
                .as_ref()
                .is_some_and(|(_, before)| before.is_some() || copy.queue == name);
            copy.at == At::Waiting && copy.text == *text && comes
        };
        let found = found.or_else(|| self.copies.iter().position(pushed));
        let found = found.or_else(|| self.put_there(queue, text));
        found.unwrap_or_else(|| {
            let copy = self.new_copy(queue, text.clone());
            self.copies.push(copy);
            self.copies.len() - 1
        })
    }

    fn popped(
        &mut self,
        queue: &RedisQueue,
        text: &Bytes,
        (author, call): By<'_>,
        kept: Option<Bytes>,
    ) -> Vec<QueueEffect> {
        let place = self.waiting(queue, text);
        let copy = &mut self.copies[place];
        copy.queue = queue.name();
        let at = match kept {
            Some(key) => at_key(&key, text),
            None => At::Hand(call),
        };
        let done = matches!(at, At::Hand(_)) && queue.processing.is_empty();
        let mut effects = vec![copy.deliver(author, at)];
        if done {
            let id = copy.id.clone();
            self.done(&id, &mut effects);
        }
        effects
    }

    fn moved(&mut self, from: &RedisQueue, to: &RedisQueue, text: &Bytes) -> Vec<QueueEffect> {
        let place = self.waiting(from, text);
        let copy = &mut self.copies[place];
        copy.queue = to.name();
        vec![QueueEffect::Sent(copy.item())]
    }

    /// The element that is worked on at this key, by this name.
    fn processing(&self, key: &Bytes, handle: &Bytes) -> Option<usize> {
        let at = (key.clone(), handle.clone());
        self.copies.iter().position(|copy| match &copy.at {
            At::Processing(places) => places.contains(&at),
            _ => false,
        })
    }

    /// An element leaves one of the places where it is worked on.
    fn leaves(
        &mut self,
        place: usize,
        (key, handle): (&Bytes, &Bytes),
        effects: &mut Vec<QueueEffect>,
    ) {
        let copy = &mut self.copies[place];
        let At::Processing(places) = &mut copy.at else {
            return;
        };
        places.remove(&(key.clone(), handle.clone()));
        if places.is_empty() {
            let id = copy.id.clone();
            self.done(&id, effects);
        }
    }

    /// An element is nowhere any more.
    pub(super) fn done(&mut self, id: &str, effects: &mut Vec<QueueEffect>) {
        if let Some(place) = self.copies.iter().position(|copy| copy.id == id) {
            let copy = self.copies.remove(place);
            if copy.entry.is_some() {
                self.done.insert(copy.id.clone());
            }
            effects.push(QueueEffect::Deleted(copy.item(), copy.receipt()));
        }
    }
}

fn at_key(key: &Bytes, handle: &Bytes) -> At {
    At::Processing(BTreeSet::from([(key.clone(), handle.clone())]))
}
