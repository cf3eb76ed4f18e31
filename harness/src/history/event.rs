//! What can stand in a history. One entry a line; everything a judge needs is here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Blob, Shared, Text, Words};
use crate::ids::{
    Author, CallId, ConnectionId, DependencyName, FaultId, Incarnation, MessageName, RoleName,
    StageName,
};
use crate::shape::Shape;
use crate::tap::{Extent, Side};

/// The version of the history's format. A change that an older reader would
/// misunderstand raises it.
pub const SCHEMA: u32 = 2;

/// One line of a history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Position in the one order of the rehearsal, from 1. Judges order by this.
    pub seq: u64,
    /// Microseconds since the rehearsal began (monotonic). For people.
    pub at_us: u64,
    /// What was seen or done.
    #[serde(flatten)]
    pub event: Event,
}

/// What the harness saw or did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The first line.
    Began {
        /// [`SCHEMA`].
        schema: u32,
        /// The system under rehearsal, as its manifest calls it.
        #[serde(default)]
        system: String,
        /// The run it belongs to.
        run: String,
        /// The scenario's name.
        scenario: String,
        /// Where the scenario stands.
        place: String,
        /// The seed of every random choice.
        seed: u64,
        /// Versions of the harness and of what it started.
        versions: BTreeMap<String, String>,
    },
    /// A step of the scenario begins.
    Step {
        /// As written.
        text: String,
    },

    /// A process was started.
    Started {
        /// Which.
        incarnation: Incarnation,
        /// Its process id.
        pid: i32,
    },
    /// A process counts as ready.
    Ready {
        /// Which.
        incarnation: Incarnation,
    },
    /// The harness is about to send a signal.
    Signalled {
        /// To whom.
        incarnation: Incarnation,
        /// `SIGKILL`, …
        signal: String,
        /// The fault that ordered it; none at the end of the rehearsal.
        fault: Option<FaultId>,
    },
    /// A process ended, and was reaped.
    Exited {
        /// Which.
        incarnation: Incarnation,
        /// Its exit code, unless a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<String>,
        /// Who wanted it.
        cause: DeathCause,
        /// The messages it had in hand.
        in_hand: Vec<MessageName>,
    },
    /// What a process wrote last, whose end nobody had ordered or announced.
    LastWords {
        /// Whose.
        incarnation: Incarnation,
        /// The last lines.
        lines: Vec<String>,
        /// The file that holds all of it.
        log: String,
    },
    /// All connections of an ended incarnation have ended on both sides.
    Drained {
        /// Which.
        incarnation: Incarnation,
    },

    /// A connection was accepted by a tap.
    Connected {
        /// The connection.
        connection: ConnectionId,
        /// Whose.
        author: Author,
        /// To whom.
        dependency: DependencyName,
    },
    /// A connection ended on both sides.
    Disconnected {
        /// The connection.
        connection: ConnectionId,
        /// How.
        reason: String,
    },
    /// What all calls of one kind have in common. It stands before the first of them.
    Kind {
        /// Its number.
        kind: u64,
        /// The summary of the first of them.
        summary: Text,
        /// See [`Event::Called`].
        #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
        actions: Words,
        /// See [`Event::Called`].
        shape: Shared<Shape>,
        /// The statements of the first of them, one a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        statements: Option<Text>,
    },
    /// A call was read, whole or so much of it as is held; no byte of it was forwarded yet.
    Called {
        /// The call.
        call: CallId,
        /// Its connection.
        connection: ConnectionId,
        /// Who made it.
        author: Author,
        /// To whom.
        dependency: DependencyName,
        /// What kind of call it is: what stands there is not written again. None in
        /// histories that are older than this member.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<u64>,
        /// What it asks for, in a line for people: `ReceiveMessage jobs`.
        #[serde(default, skip_serializing_if = "Text::is_empty")]
        summary: Text,
        /// The action of a queue, the method of a request, the first three words of
        /// each statement in lower case (once only the first). Empty in histories that are older than this member.
        #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
        actions: Words,
        /// What it asks for, without what differs from message to message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shape: Option<Shared<Shape>>,
        /// The messages it is about, as far as known then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<MessageName>,
        /// How it was attributed.
        #[serde(default, skip_serializing_if = "Attribution::is_none")]
        attribution: Attribution,
        /// The deliveries that it names, at a queue.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        receipts: Vec<String>,
        /// Body or parameters; the statements too, where they are not those of its kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Content,
    },
    /// A call reached its dependency only partly, or not at all.
    NotForwarded {
        /// The call.
        call: CallId,
        /// How much of it arrived.
        extent: Extent,
    },
    /// A reply was read whole; no byte of it was delivered yet.
    Replied {
        /// The call.
        call: CallId,
        /// The outcome in a line for people: `200`, `COMMIT`, `error 40001 …`.
        summary: Text,
        /// The status code, where the protocol has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Whether it made a change of the dependency durable.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wrote: bool,
        /// Whether a caller was there to get it.
        #[serde(default = "yes", skip_serializing_if = "is_so")]
        deliverable: bool,
        /// Whether it reports success.
        #[serde(default = "yes", skip_serializing_if = "is_so")]
        ok: bool,
        /// What it holds, unless other entries tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Content,
    },
    /// A body that was passed on as it came is over.
    Streamed {
        /// Of this call.
        call: CallId,
        /// Its own body, or its reply's.
        side: Side,
        /// How many bytes passed.
        len: u64,
        /// Their SHA-256 in hex.
        sha256: String,
        /// Whether it came to its end.
        whole: bool,
    },
    /// The harness answered in the dependency's place, dropped the call, or dropped
    /// or replaced the reply.
    Injected {
        /// The call.
        call: CallId,
        /// At which boundary.
        side: Side,
        /// What was done to it.
        what: String,
        /// By order of.
        fault: Option<FaultId>,
    },
    /// The caller went away before its reply.
    Abandoned {
        /// The call.
        call: CallId,
        /// While held at this side.
        side: Side,
    },

    /// A queue took a message.
    Sent {
        /// By this call.
        call: CallId,
        /// The queue's name at the dependency.
        queue: String,
        /// The copy.
        message_id: String,
        /// The message, if known.
        message: Option<MessageName>,
        /// The ids in its content, where the message was not known yet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<String>,
    },
    /// A FIFO queue gave a message its place in a group.
    Placed {
        /// By this call.
        call: CallId,
        /// The queue's name at the dependency.
        queue: String,
        /// The copy.
        message_id: String,
        /// The group.
        group: String,
        /// Its number: the larger is the later.
        sequence: String,
    },
    /// A queue handed a message over.
    Delivered {
        /// By this call.
        call: CallId,
        /// To whom.
        author: Author,
        /// The queue's name at the dependency.
        queue: String,
        /// The copy.
        message_id: String,
        /// The delivery.
        receipt: String,
        /// The message, if known.
        message: Option<MessageName>,
        /// Whether a caller was there to get it.
        deliverable: bool,
        /// Its content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Content,
    },
    /// A queue was asked by its receiver to delete a message, and answered with success.
    Deleted {
        /// By this call.
        call: CallId,
        /// Who asked.
        author: Author,
        /// The delivery.
        receipt: String,
        /// The copy, if the delivery was witnessed.
        message_id: Option<String>,
        /// The message, if known.
        message: Option<MessageName>,
        /// Whether the queue kept the copy all the same, where it tells: SQS answers with
        /// success either way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<bool>,
    },
    /// A receiver changed how long a message stays invisible.
    VisibilityChanged {
        /// By this call.
        call: CallId,
        /// The delivery.
        receipt: String,
        /// The message, if known.
        message: Option<MessageName>,
        /// Seconds from now.
        seconds: i64,
    },
    /// The harness made an orphaned delivery visible at once.
    Expired {
        /// The delivery.
        receipt: String,
        /// The copy.
        message_id: String,
        /// The message, if known.
        message: Option<MessageName>,
        /// The owner that is gone.
        owner: Incarnation,
        /// For how many seconds a message of its queue may stay hidden, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allowed: Option<u64>,
    },
    /// A service played by the harness got a request and did what there was to do.
    Performed {
        /// Which service.
        dependency: DependencyName,
        /// The request in a line.
        request: String,
        /// The route that it took, as the manifest writes it: `POST /parcels`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<String>,
        /// Whether a write was performed.
        write: bool,
        /// Whether nothing was performed, because an earlier write had the same
        /// idempotency key: it was answered as that one was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        repeated: bool,
        /// The message, if known.
        message: Option<MessageName>,
        /// The job id or name as it stood in the request.
        job: Option<String>,
        /// Further jobs that the same request was for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<Other>,
        /// The group of jobs that it was for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// Whether the request carried nothing in which anybody could name anything: no body,
        /// no query, no header beyond those of the protocol, and a path without a place for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bare: bool,
        /// The status code it answered.
        status: u16,
    },

    /// A process passed a stage.
    Stage {
        /// Which.
        stage: StageName,
        /// Who.
        incarnation: Incarnation,
        /// At this call.
        call: CallId,
        /// With which message, if known.
        message: Option<MessageName>,
        /// Values picked from the call.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        captured: BTreeMap<String, String>,
    },

    /// A process passed a stage, perhaps with a message whose id nobody was told yet. It
    /// is no passage until an [`Event::Named`] says of whom.
    Unclear {
        /// Which.
        stage: StageName,
        /// Who.
        incarnation: Incarnation,
        /// At this call.
        call: CallId,
        /// Values picked from the call.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        captured: BTreeMap<String, String>,
    },
    /// An earlier entry is found to tell of a message: its id was learnt only now. Whoever
    /// reads a history reads that entry with its message.
    Named {
        /// The entry.
        entry: u64,
        /// The message.
        message: MessageName,
    },

    /// A message of the scenario was declared.
    Declared {
        /// Its name.
        message: MessageName,
        /// What it carries.
        kind: String,
        /// The role that it is announced to kill.
        kills: Option<String>,
        /// Its content.
        content: Blob,
    },
    /// The system made a message of its own: what was submitted is done in parts.
    Made {
        /// Its name, given here.
        message: MessageName,
        /// The message that it was made for, if known.
        parent: Option<MessageName>,
        /// Its job id.
        job: String,
        /// The stage that makes it.
        stage: StageName,
        /// By this call.
        call: CallId,
    },
    /// The client begins to submit a message.
    Submitting {
        /// Which.
        message: MessageName,
    },
    /// The client knows the job's id.
    Accepted {
        /// Which.
        message: MessageName,
        /// Its job id.
        job: String,
    },
    /// The client gave up, or was refused.
    Refused {
        /// Which.
        message: MessageName,
        /// Why.
        reason: String,
    },
    /// An id was found to mean a message.
    Alias {
        /// The id.
        id: String,
        /// The message.
        message: MessageName,
    },

    /// A fault was armed.
    Armed {
        /// Its number.
        fault: FaultId,
        /// In words.
        text: String,
        /// How many times it must land for the scenario to be proven.
        expected: u32,
        /// The dependency that fails, if it is an outage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outage: Option<DependencyName>,
    },
    /// A fault's trigger was met.
    Triggered {
        /// Which.
        fault: FaultId,
        /// At this call.
        call: Option<CallId>,
        /// With this message.
        message: Option<MessageName>,
    },
    /// A fault's effect was witnessed.
    Landed {
        /// Which.
        fault: FaultId,
        /// What was seen.
        evidence: String,
    },
    /// A fault was triggered and its effect could not be witnessed.
    Missed {
        /// Which.
        fault: FaultId,
        /// Why.
        reason: String,
    },
    /// A fault is over.
    Disarmed {
        /// Which.
        fault: FaultId,
    },

    /// An operator's command, or another question to the system, was run.
    Operator {
        /// The command in a line.
        command: String,
        /// Its exit code.
        code: Option<i32>,
        /// What it printed.
        output: Blob,
    },
    /// The preflight found that the scenario cannot go as it is meant to.
    Warned {
        /// What.
        warning: String,
    },
    /// A consumer is about to ask a queue for messages.
    Receiving {
        /// By this call.
        call: CallId,
        /// Who.
        incarnation: Incarnation,
        /// How many at most.
        at_most: u32,
        /// For how many seconds it hides them, if it says so itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hides: Option<u64>,
    },
    /// What consumers may do once everything is quiet, as the system says.
    Consumption {
        /// The mode.
        mode: String,
        /// How many messages a consumer has in hand in normal mode.
        configured: Option<u32>,
    },
    /// The scenario expects consumption to stop.
    StopExpected,
    /// The scenario expects a process to die by itself: such deaths are announced.
    DeathExpected {
        /// Its role.
        role: RoleName,
        /// Which instance; none: any of the role.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instance: Option<u32>,
    },
    /// A process was stopped and is never to go on: nobody waits for it, and what it had in
    /// hand is nobody's.
    LeftStanding {
        /// Which.
        incarnation: Incarnation,
    },
    /// A process was cut off from everything.
    CutOff {
        /// Which.
        incarnation: Incarnation,
    },
    /// A process that was cut off is reached again.
    Reached {
        /// Its role.
        role: RoleName,
        /// Which instance.
        instance: u32,
    },
    /// The harness put a message of a dead-letter queue back on the queue that it came from.
    Redriven {
        /// The copy that is gone.
        from: String,
        /// The copy that the queue took.
        to: String,
        /// The message, if known.
        message: Option<MessageName>,
    },
    /// What the scenario's own steps came to.
    Concluded {
        /// `passed`, `failed`, `invalid`, `error`, `unproven` or `interrupted`.
        verdict: String,
        /// What they found, in words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasons: Vec<String>,
    },
    /// Everything is quiet.
    Quiet,
    /// Everything was counted, and the deployment is watched for a while longer.
    Lingers,
    /// The last line: the deployment is gone, and what was made for it is removed.
    Ended {
        /// SHA-256 of all lines before, in hex, each with its end of line. Older histories
        /// have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// One value of the snapshot that totals are judged from.
    Counted {
        /// The total: `attempts started`.
        total: String,
        /// By label, where it is split.
        label: Option<String>,
        /// Who says so: `witness` or `claim`.
        source: String,
        /// The figure.
        value: i64,
    },
    /// What is on record of a message whose attempts are used up, read once everything is
    /// quiet.
    Exhausted {
        /// Which.
        message: MessageName,
        /// The limit of this scenario.
        limit: i64,
        /// How many attempts counted; none: nothing says so.
        counted: Option<i64>,
        /// The content that was kept.
        content: Option<Blob>,
        /// The last stage that was kept.
        last_stage: Option<String>,
    },
    /// What the system says of a message that has its end, read once everything is quiet.
    Observed {
        /// Which.
        message: MessageName,
        /// The end, as the manifest calls it.
        end: String,
        /// The observation that was made.
        observation: String,
        /// What it read; none: nothing.
        value: Option<String>,
    },
    /// Something that a call could not be attributed to although a trigger waits for it,
    /// or that must not be guessed.
    Doubt {
        /// What.
        reason: String,
    },
    /// The harness could not do something.
    Trouble {
        /// What.
        reason: String,
    },
}

/// A further job of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// The job id or name as it stood in the request.
    pub job: String,
    /// The message, if known.
    pub message: Option<MessageName>,
}

/// Content of a call or reply, where there is any. The file has it: memory does not keep it.
pub type Content = Option<Box<Blob>>;

fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_so(value: &bool) -> bool {
    *value
}

impl Attribution {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks with a reference"
    )]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl Event {
    /// Takes out what memory does not keep.
    pub(super) fn forget_content(&mut self) {
        match self {
            Self::Called { content, .. }
            | Self::Replied { content, .. }
            | Self::Delivered { body: content, .. } => *content = None,
            _ => {}
        }
    }
}

/// How a call's messages were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attribution {
    /// By an id in the call.
    Id,
    /// By the one message that its author had in hand.
    InHand,
    /// Not at all.
    #[default]
    None,
}

/// Who wanted a process's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeathCause {
    /// A fault, or a step of the scenario.
    Ordered,
    /// A message in hand was announced to kill it.
    Announced,
    /// The end of the rehearsal.
    Shutdown,
    /// Nobody.
    Unexpected,
}
