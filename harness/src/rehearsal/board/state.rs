//! What the board knows of one rehearsal at this moment.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::MessageAttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::super::ExpectedDeath;
use super::super::aliases::Aliases;
use super::super::deliveries::{Deliveries, Delivery};
use super::super::unnamed::Unnamed;
use super::unclear::UnclearOnes;
use crate::fault::Fault;
use crate::ids::{
    Author, CallId, ConnectionId, DependencyName, FaultId, Incarnation, MessageName, RoleName,
    StageName,
};
use crate::tap::{Gate, Side};

#[derive(Default)]
pub(super) struct State {
    /// Where the taps' own connections to a dependency came from.
    pub(super) tap_ports: BTreeMap<DependencyName, BTreeSet<u16>>,
    pub(super) fault_ids: u64,
    pub(super) calls: u64,
    /// Calls that are passed on twice: by order of which faults, and how many copies were
    /// answered.
    pub(super) doubled: BTreeMap<CallId, (Vec<FaultId>, u32)>,
    /// Calls that their taps let misbehave, by order of which faults.
    pub(super) misbehaving: BTreeMap<CallId, Vec<FaultId>>,
    /// Who was told to end.
    pub(super) terminated: BTreeSet<Incarnation>,
    /// Who stopped consumption, and why.
    pub(super) stop: Option<String>,
    /// Which messages have passed which ends.
    pub(super) ended: BTreeSet<(StageName, MessageName)>,
    /// What was doubted already.
    pub(super) doubted: BTreeSet<String>,
    /// What rests on a count alone, in words.
    pub(super) uncertain: BTreeSet<String>,
    pub(super) connections: u64,
    pub(super) faults: Vec<Armed>,
    pub(super) aliases: Aliases,
    /// What passed and could not be named so far.
    pub(super) unnamed: Unnamed,
    pub(super) deliveries: Deliveries,
    pub(super) submitting: BTreeSet<MessageName>,
    /// Messages whose submission told no id.
    pub(super) unanswered: BTreeSet<MessageName>,
    /// How many messages the system made, by whom they were made for.
    pub(super) made: BTreeMap<String, u32>,
    /// What passed and may be named later.
    pub(super) unclear: UnclearOnes,
    pub(super) held: BTreeMap<CallId, String>,
    pub(super) living: BTreeMap<Incarnation, Life>,
    /// The gates of those that live.
    pub(super) gates: BTreeMap<Incarnation, Arc<Gate>>,
    /// The latest receive of each consumer at each queue, by the name it has at its server.
    pub(super) receives: BTreeMap<(Incarnation, DependencyName, String), Receive>,
    /// Who asked which queue for messages, ever: the queue as the manifest names it.
    pub(super) takers: BTreeSet<(RoleName, DependencyName, String)>,
    /// Where the latest call of each text stands that a consumer of a table made.
    pub(super) rounds: HashMap<(Incarnation, DependencyName, String), u64>,
    /// The texts of calls that claimed rows of a table.
    pub(super) claiming: BTreeSet<(DependencyName, String)>,
    /// Incarnations that made the call which shows that they are ready.
    pub(super) called: BTreeSet<Incarnation>,
    /// By the timer's place in the manifest.
    pub(super) ticks: BTreeMap<(usize, Incarnation), Tick>,
    /// Connections with a transaction that wrote something and is still open.
    pub(super) writing: BTreeMap<ConnectionId, Author>,
    /// Connections with a transaction that is open, whether it wrote something or not.
    pub(super) transactions: BTreeMap<ConnectionId, Author>,
    /// Calls that were not answered yet, with their connections.
    pub(super) open: BTreeMap<CallId, (ConnectionId, Author)>,
    /// When each author made a call last, or was answered: receives do not count.
    pub(super) last_calls: BTreeMap<Author, Instant>,
    pub(super) effects: Effects,
    pub(super) announced: BTreeMap<MessageName, RoleName>,
    /// What was delivered of each message, the first time.
    pub(super) bodies: BTreeMap<MessageName, DeliveredMessage>,
    /// Who is expected to die by itself.
    pub(super) mortal: Vec<ExpectedDeath>,
    /// Those that are stopped and never go on.
    pub(super) left_standing: BTreeSet<Incarnation>,
    pub(super) declared: usize,
    /// Whom a fault holds at a stage, by their calls. Whoever is taken out goes on.
    pub(super) holds: BTreeMap<CallId, Author>,
    /// Calls that are late: they reach their dependencies although their clients go away.
    pub(super) late: BTreeSet<CallId>,
    /// Entries that were taken out of a batch, with the code that they fail with.
    pub(super) refused_entries: BTreeMap<CallId, Vec<(String, String)>>,
    /// Messages that the harness itself puts on a queue, by what they hold.
    pub(super) foreign: Vec<(String, MessageName)>,
}

pub(super) struct Armed {
    pub(super) id: FaultId,
    pub(super) fault: Fault,
    /// At which boundary it acts; none: where its stage is bound.
    pub(super) side: Option<Side>,
    /// Matching passages: of each message for itself, where the fault counts so.
    pub(super) passages: BTreeMap<Option<MessageName>, u32>,
    /// What was decided for the first wire attempt of a call holds for all of them.
    pub(super) invocations: BTreeMap<(String, Option<MessageName>), bool>,
    pub(super) triggered: u32,
    pub(super) landed: u32,
    pub(super) missed: u32,
    pub(super) disarmed: bool,
}

/// What is known of a timer. What a tick finds is dealt with before the next begins, so
/// a tick is over only then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tick {
    /// The call that shows the latest tick.
    pub(super) call: CallId,
    /// Where it began.
    pub(super) began: u64,
    /// Where the tick before it began: the last one that is over.
    pub(super) over: Option<u64>,
}

/// What an incarnation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rehearsal) enum Life {
    Running,
    Stopped,
    Ending,
}

/// Where effects stand in the history.
#[derive(Debug, Default)]
pub(super) struct Effects {
    last: u64,
    /// The latest of each that lives.
    of: BTreeMap<Author, u64>,
}

impl Effects {
    pub(super) fn note(&mut self, author: &Author, seq: u64) {
        self.last = self.last.max(seq);
        self.of.insert(author.clone(), seq);
    }

    /// The latest of an author; 0: there is none.
    pub(super) fn of(&self, author: &Author) -> u64 {
        self.of.get(author).copied().unwrap_or_default()
    }

    /// The latest of anybody; 0: there is none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }
}

/// The latest receive of a consumer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receive {
    pub(super) call: CallId,
    pub(super) began: u64,
    /// Still open, or ended without a message.
    pub(super) empty_handed: bool,
}

impl Armed {
    /// Whether it was triggered and its effect was not seen yet.
    pub(super) fn is_at_work(&self) -> bool {
        self.landed + self.missed < self.triggered
    }

    /// Whether quiet must wait for it. One that merely waits for its stage keeps nothing
    /// from being quiet: if the stage is never passed, the scenario is unproven.
    pub(super) fn is_pending(&self) -> bool {
        !self.disarmed && self.is_at_work()
    }
}

/// What a queue delivered of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::rehearsal) struct DeliveredMessage {
    pub(in crate::rehearsal) body: String,
    attributes: Map<String, Value>,
}

impl DeliveredMessage {
    /// Of a message as a receive answers it.
    pub(super) fn of(body: &str, item: &Value) -> Self {
        let attributes = item.get("MessageAttributes").and_then(Value::as_object);
        Self {
            body: body.to_owned(),
            attributes: attributes.cloned().unwrap_or_default(),
        }
    }

    /// Its attributes, as far as its receiver asked for them.
    pub(in crate::rehearsal) fn attributes(
        &self,
    ) -> Option<HashMap<String, MessageAttributeValue>> {
        let of = |(name, value): (&String, &Value)| {
            let text = |member: &str| value.get(member)?.as_str().map(str::to_owned);
            let bytes = text("BinaryValue").and_then(|text| STANDARD.decode(text).ok());
            let built = MessageAttributeValue::builder()
                .set_data_type(text("DataType"))
                .set_string_value(text("StringValue"))
                .set_binary_value(bytes.map(Blob::new))
                .build();
            Some((name.clone(), built.ok()?))
        };
        let attributes: HashMap<_, _> = self.attributes.iter().filter_map(of).collect();
        (!attributes.is_empty()).then_some(attributes)
    }
}

impl State {
    /// Whatever is kept of a living incarnation alone.
    pub(super) fn forget(&mut self, incarnation: &Incarnation) {
        self.living.remove(incarnation);
        self.gates.remove(incarnation);
        self.receives.retain(|(by, ..), _| by != incarnation);
        self.called.remove(incarnation);
        self.left_standing.remove(incarnation);
        self.effects
            .of
            .remove(&Author::Process(incarnation.clone()));
    }

    /// Whether a call was made by somebody who never goes on.
    pub(super) fn is_of_left_standing(&self, call: CallId) -> bool {
        let open = self.open.get(&call);
        open.is_some_and(|(_, author)| self.is_left_standing(author))
    }

    pub(super) fn is_left_standing(&self, author: &Author) -> bool {
        author
            .incarnation()
            .is_some_and(|by| self.left_standing.contains(by))
    }

    /// Ends what an incarnation has, or gave back for a while.
    pub(super) fn orphan(&mut self, incarnation: &Incarnation) -> Vec<Delivery> {
        let unsettled = self.deliveries.unsettled_of(incarnation).into_iter();
        let orphans: Vec<Delivery> = unsettled.cloned().collect();
        for orphan in &orphans {
            self.deliveries.end(&orphan.receipt);
        }
        orphans
    }

    pub(super) fn in_hand(&self, author: &Author) -> BTreeSet<MessageName> {
        let Some(incarnation) = author.incarnation() else {
            return BTreeSet::new();
        };
        let unsettled = self.deliveries.unsettled_of(incarnation);
        unsettled
            .into_iter()
            .filter_map(|delivery| delivery.message.clone())
            .collect()
    }

    /// The message that the harness puts on a queue with this body, delivered for the
    /// first time: its `MessageId` may not be known yet.
    pub(super) fn take_foreign(&mut self, body: &str) -> Option<MessageName> {
        let position = self.foreign.iter().position(|(known, _)| known == body)?;
        Some(self.foreign.remove(position).1)
    }

    /// The one message that an author has in hand, if it is one.
    pub(super) fn sole_in_hand(&self, author: &Author) -> Option<MessageName> {
        let incarnation = author.incarnation()?;
        let held = self.deliveries.held_by(incarnation);
        let unsettled = self.deliveries.unsettled_of(incarnation);
        match (held.as_slice(), unsettled.as_slice()) {
            ([one], _) | ([], [one]) => one.message.clone(),
            _ => None,
        }
    }
}
