//! Moves whose answers are outrun: what one move puts somewhere, another call may take from
//! there, and be answered first. A pop that blocks is answered as soon as the server has
//! something for it.

use bytes::Bytes;

use super::super::command::Command;
use super::super::queue::RedisQueue;
use super::copy::{At, Copy};
use super::{Item, QueueEffect, State, View};
use crate::ids::CallId;

/// A move of one element that is not answered yet. Which element it is, its answer tells.
#[derive(Debug)]
pub(super) struct Moving {
    call: CallId,
    from: Bytes,
    to: Bytes,
}

/// What an unanswered move is known to have done, because somebody has the element already.
#[derive(Debug)]
pub(super) struct Outrun {
    call: CallId,
    text: Bytes,
    did: Did,
}

#[derive(Debug)]
enum Did {
    /// It gave an element back.
    Returned,
    /// It passed an element on to another queue.
    PassedOn(Item),
    /// It handed an element over, by this receipt, which was then taken away again.
    HandedOver(Item, String),
}

/// From where to where a command moves an element.
pub(super) fn ends(command: &Command) -> Option<(Bytes, Bytes)> {
    let moves = matches!(
        command.name.as_str(),
        "LMOVE" | "BLMOVE" | "RPOPLPUSH" | "BRPOPLPUSH"
    );
    match command.keys().as_slice() {
        [from, to, ..] if moves => Some(((*from).clone(), (*to).clone())),
        _ => None,
    }
}

impl View {
    /// What the move that a call was answered for had done before its answer was seen.
    pub(super) fn outrun(
        state: &mut State,
        call: CallId,
        text: &Bytes,
    ) -> Option<Vec<QueueEffect>> {
        let is = |one: &Outrun| one.call == call && one.text == *text;
        let place = state.outrun.iter().position(is)?;
        Some(match state.outrun.remove(place).did {
            Did::Returned => Vec::new(),
            Did::PassedOn(item) => vec![QueueEffect::Sent(item)],
            Did::HandedOver(item, receipt) => vec![
                QueueEffect::Delivered(item, receipt.clone()),
                QueueEffect::Released(receipt),
            ],
        })
    }

    /// The element that a move under way must have put at this key, where it is worked on:
    /// somebody took it from there. It counts as waiting now.
    pub(super) fn handed_over(
        &self,
        state: &mut State,
        key: &Bytes,
        text: &Bytes,
    ) -> Option<usize> {
        let (at, copy, queue) = state.moving.iter().enumerate().find_map(|(at, moving)| {
            let queue = self.queue_at(&moving.from).filter(|_| moving.to == *key)?;
            let name = queue.name();
            let waits =
                |copy: &Copy| copy.queue == name && copy.at == At::Waiting && copy.text == *text;
            Some((at, state.copies.iter().position(waits)?, queue))
        })?;
        let moving = state.moving.remove(at);
        let copied = &mut state.copies[copy];
        copied.queue = queue.name();
        copied.deliveries += 1;
        let did = Did::HandedOver(copied.item(), copied.receipt());
        state.outrun(moving.call, text, did);
        Some(copy)
    }
}

impl State {
    /// A request that moves elements is about to be forwarded.
    pub(super) fn moves(&mut self, call: CallId, command: &Command) {
        if let Some((from, to)) = ends(command) {
            self.moving.push(Moving { call, from, to });
        }
    }

    /// A call was answered, or never will be.
    pub(super) fn moves_no_more(&mut self, call: CallId) {
        self.moving.retain(|moving| moving.call != call);
        self.outrun.retain(|outrun| outrun.call != call);
    }

    /// The element that a move under way must have put into this queue: somebody has taken
    /// it from there.
    pub(super) fn put_there(&mut self, queue: &RedisQueue, text: &Bytes) -> Option<usize> {
        let (at, copy) = self.moving.iter().enumerate().find_map(|(at, moving)| {
            if moving.to != queue.key().as_bytes() {
                return None;
            }
            let handle = (moving.from.clone(), text.clone());
            let there = |copy: &Copy| match &copy.at {
                At::Processing(places) => places.contains(&handle),
                At::Waiting => copy.text == *text && copy.queue.as_bytes() == moving.from,
                _ => false,
            };
            Some((at, self.copies.iter().position(there)?))
        })?;
        let moving = self.moving.remove(at);
        let moved = &mut self.copies[copy];
        moved.queue = queue.name();
        let did = if moved.at == At::Waiting {
            Did::PassedOn(moved.item())
        } else {
            Did::Returned
        };
        moved.at = At::Waiting;
        moved.owner = None;
        self.outrun(moving.call, text, did);
        Some(copy)
    }

    fn outrun(&mut self, call: CallId, text: &Bytes, did: Did) {
        let text = text.clone();
        self.outrun.push(Outrun { call, text, did });
    }
}
