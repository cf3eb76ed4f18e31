//! What lasts: lives of processes, messages in hand and in queues, calls, holds, outages,
//! pauses.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::ended::queue_of;
use super::record::{LaneOf, Lanes};
use crate::history::{Entry, Event};
use crate::ids::{CallId, DependencyName, FaultId, Incarnation, MessageName};
use crate::judge::Evidence;
use crate::manifest::Protocol;

/// What lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lasting {
    /// A process lives.
    Life,
    /// A process has a message in hand.
    Hand,
    /// A message lies in a queue, to be received.
    Waiting,
    /// A call was held by a fault.
    Held,
    /// A dependency fails.
    Outage,
    /// A process is stopped and not dead.
    Stopped,
    /// The system lets nothing be consumed, or one at a time.
    Mode,
}

/// Lane, from and until in microseconds, what, in words, the messages' positions, and the
/// entries that begin and end it (0: it lasts until the end). An array in JSON, because
/// there are many.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Span(
    pub usize,
    pub u64,
    pub u64,
    pub Lasting,
    pub String,
    pub Vec<usize>,
    pub u64,
    pub u64,
);

/// A span that has begun.
struct Open {
    lane: usize,
    began: (u64, u64),
    what: Lasting,
    text: String,
    messages: Vec<usize>,
}

/// Who or what a span is of, while it is open.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Life(Incarnation),
    Hand(String),
    Waiting(String),
    Held(CallId),
    Outage(FaultId),
    Stopped(Incarnation),
    Mode,
}

struct Course<'a, 'l> {
    evidence: Evidence<'a>,
    lanes: &'l mut Lanes,
    positions: &'l HashMap<MessageName, usize>,
    open: HashMap<Key, Open>,
    spans: Vec<Span>,
    outages: HashMap<FaultId, (DependencyName, String)>,
    callers: HashMap<CallId, Incarnation>,
    /// Where each copy lies.
    queues: HashMap<String, String>,
}

pub(super) fn of(
    evidence: Evidence<'_>,
    lanes: &mut Lanes,
    positions: &HashMap<MessageName, usize>,
) -> Vec<Span> {
    let mut course = Course {
        evidence,
        lanes,
        positions,
        open: HashMap::new(),
        spans: Vec::new(),
        outages: HashMap::new(),
        callers: HashMap::new(),
        queues: HashMap::new(),
    };
    for entry in evidence.entries {
        course.process(entry);
        course.message(entry);
        course.disturbance(entry);
    }
    let end = evidence.entries.last().map_or(0, |entry| entry.at_us);
    let mut rest: Vec<Open> = course.open.drain().map(|(_, open)| open).collect();
    rest.sort_by_key(|open| open.began);
    for open in rest {
        course.spans.push(span(open, (0, end)));
    }
    course.spans.sort_by_key(|span| (span.6, span.7));
    course.spans
}

fn span(open: Open, ended: (u64, u64)) -> Span {
    Span(
        open.lane,
        open.began.1,
        ended.1,
        open.what,
        open.text,
        open.messages,
        open.began.0,
        ended.0,
    )
}

/// Queues are the lanes of their service; of another dependency there is one.
pub(super) fn lane_of_dependency(
    evidence: Evidence<'_>,
    lanes: &mut Lanes,
    dependency: &DependencyName,
) -> usize {
    let known = evidence.manifest.dependencies.get(dependency);
    let is_queue = known.is_some_and(|known| matches!(known.protocol, Protocol::Sqs { .. }));
    let of = if is_queue {
        LaneOf::Queue
    } else {
        LaneOf::Dependency
    };
    lanes.at(of, dependency.as_str())
}

impl Course<'_, '_> {
    fn begin(
        &mut self,
        key: Key,
        lane: usize,
        entry: &Entry,
        (what, text): (Lasting, String),
        messages: &[MessageName],
    ) {
        let messages = messages
            .iter()
            .filter_map(|message| self.positions.get(message).copied())
            .collect();
        self.end(&key, entry);
        let open = Open {
            lane,
            began: (entry.seq, entry.at_us),
            what,
            text,
            messages,
        };
        self.open.insert(key, open);
    }

    fn end(&mut self, key: &Key, entry: &Entry) {
        if let Some(open) = self.open.remove(key) {
            self.spans.push(span(open, (entry.seq, entry.at_us)));
        }
    }

    fn process(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Started { incarnation, pid } => {
                let lane = self.lanes.at(LaneOf::Process, &incarnation.to_string());
                let text = format!("{incarnation} lives (pid {pid})");
                let key = Key::Life(incarnation.clone());
                self.begin(key, lane, entry, (Lasting::Life, text), &[]);
            }
            Event::Exited { incarnation, .. } => {
                self.end(&Key::Stopped(incarnation.clone()), entry);
                self.end(&Key::Life(incarnation.clone()), entry);
                let lane = self.lanes.at(LaneOf::Process, &incarnation.to_string());
                // What it had in hand, it has no more.
                let held: Vec<Key> = self
                    .open
                    .iter()
                    .filter(|(_, open)| open.lane == lane)
                    .map(|(key, _)| key.clone())
                    .collect();
                for key in held {
                    self.end(&key, entry);
                }
            }
            Event::Signalled {
                incarnation,
                signal,
                ..
            } => match signal.as_str() {
                "SIGSTOP" => {
                    let lane = self.lanes.at(LaneOf::Process, &incarnation.to_string());
                    let text = format!("{incarnation} is stopped");
                    let key = Key::Stopped(incarnation.clone());
                    self.begin(key, lane, entry, (Lasting::Stopped, text), &[]);
                }
                "SIGCONT" => self.end(&Key::Stopped(incarnation.clone()), entry),
                _ => {}
            },
            _ => {}
        }
    }

    fn message(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Sent {
                queue,
                message_id,
                message,
                ..
            } => self.waits(entry, message_id, queue, message.as_ref()),
            Event::Delivered {
                author,
                queue,
                message_id,
                receipt,
                message,
                ..
            } => {
                self.queues.insert(message_id.clone(), queue.clone());
                self.end(&Key::Waiting(message_id.clone()), entry);
                if let Some(holder) = author.incarnation() {
                    let lane = self.lanes.at(LaneOf::Process, &holder.to_string());
                    let (_, name) = queue_of(self.evidence.manifest, queue);
                    let text = format!("in the hand of {holder}, from {name}");
                    let key = Key::Hand(receipt.clone());
                    let of = message.as_slice();
                    self.begin(key, lane, entry, (Lasting::Hand, text), of);
                }
            }
            Event::Deleted {
                receipt,
                message_id,
                kept,
                ..
            } => {
                self.end(&Key::Hand(receipt.clone()), entry);
                if let Some(copy) = message_id.as_ref().filter(|_| *kept != Some(true)) {
                    self.end(&Key::Waiting(copy.clone()), entry);
                }
            }
            Event::Expired {
                receipt,
                message_id,
                message,
                ..
            } => {
                self.end(&Key::Hand(receipt.clone()), entry);
                let queue = self.queues.get(message_id).cloned().unwrap_or_default();
                self.waits(entry, message_id, &queue, message.as_ref());
            }
            Event::VisibilityChanged {
                receipt,
                seconds: 0,
                ..
            } => self.end(&Key::Hand(receipt.clone()), entry),
            _ => {}
        }
    }

    fn waits(&mut self, entry: &Entry, copy: &str, queue: &str, message: Option<&MessageName>) {
        let (_, name) = queue_of(self.evidence.manifest, queue);
        let lane = self.lanes.at(LaneOf::Queue, &name);
        let text = format!("lies in {name}");
        let key = Key::Waiting(copy.to_owned());
        let of = message.map(std::slice::from_ref).unwrap_or_default();
        self.begin(key, lane, entry, (Lasting::Waiting, text), of);
    }

    fn disturbance(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Called { call, author, .. } => {
                if let Some(caller) = author.incarnation() {
                    self.callers.insert(*call, caller.clone());
                }
            }
            Event::Armed {
                fault,
                text,
                outage: Some(dependency),
                ..
            } => {
                let outage = (dependency.clone(), text.clone());
                self.outages.insert(*fault, outage);
            }
            Event::Triggered {
                fault,
                call,
                message,
            } => {
                if let Some((dependency, text)) = self.outages.get(fault).cloned() {
                    let lane = lane_of_dependency(self.evidence, self.lanes, &dependency);
                    let key = Key::Outage(*fault);
                    self.begin(key, lane, entry, (Lasting::Outage, text), &[]);
                } else if let Some(caller) = call.and_then(|call| self.callers.get(&call)) {
                    let lane = self.lanes.at(LaneOf::Process, &caller.to_string());
                    let text = "its call is held by a fault".to_owned();
                    let key = Key::Held(call.unwrap_or(CallId(0)));
                    let of = message.as_slice();
                    self.begin(key, lane, entry, (Lasting::Held, text), of);
                }
            }
            Event::Injected { call, .. }
            | Event::Replied { call, .. }
            | Event::Abandoned { call, .. } => self.end(&Key::Held(*call), entry),
            Event::Disarmed { fault } => self.end(&Key::Outage(*fault), entry),
            Event::Consumption { mode, .. } => {
                let lane = self.lanes.at(LaneOf::Harness, "harness");
                let text = format!("consumption is {mode}");
                self.begin(Key::Mode, lane, entry, (Lasting::Mode, text), &[]);
            }
            _ => {}
        }
    }
}
