//! Histories for the judges' tests, written as one tells them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use super::{Evidence, Judgement, judge};
use crate::history::{Attribution, Blob, DeathCause, Entry, Event, SCHEMA, Shared};
use crate::ids::{Author, CallId, ConnectionId, FaultId, Incarnation, MessageName};
use crate::manifest::Manifest;
use crate::shape::{Asked, Shape};

/// What the stages of these stories mean.
pub(crate) static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge/rehearsal.yaml");
    Manifest::load(&path).unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)))
});

/// A history that is being told.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    events: Vec<Event>,
    calls: u64,
}

impl Story {
    pub(crate) fn new() -> Self {
        let began = Event::Began {
            system: String::new(),
            schema: SCHEMA,
            run: "run".to_owned(),
            scenario: "a story".to_owned(),
            place: "story.feature:1".to_owned(),
            seed: 1,
            versions: BTreeMap::new(),
        };
        Self {
            events: vec![began],
            calls: 0,
        }
    }

    pub(crate) fn then(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// With the event at this place, from 1, left out.
    pub(crate) fn without(&self, place: usize) -> Self {
        let mut story = self.clone();
        story.events.remove(place - 1);
        story
    }

    /// With the event at this place, from 1, told twice.
    pub(crate) fn twice(&self, place: usize) -> Self {
        let mut story = self.clone();
        let event = story.events[place - 1].clone();
        story.events.insert(place, event);
        story
    }

    /// Told by others.
    pub(crate) fn of(events: Vec<Event>) -> Self {
        Self { events, calls: 0 }
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        (1..)
            .zip(&self.events)
            .map(|(seq, event)| Entry {
                seq,
                at_us: seq,
                event: event.clone(),
            })
            .collect()
    }

    pub(crate) fn judged(&self) -> Judgement {
        judge(Evidence {
            manifest: &MANIFEST,
            entries: &self.entries(),
        })
    }

    /// The rules that it breaks, each once for each time.
    pub(crate) fn broken_rules(&self) -> Vec<&'static str> {
        self.judged()
            .violations
            .iter()
            .map(|violation| violation.invariant)
            .collect()
    }

    /// With calls numbered from here on.
    pub(crate) fn calling_from(mut self, call: u64) -> Self {
        self.calls = call;
        self
    }

    pub(crate) fn last_call(&self) -> CallId {
        CallId(self.calls)
    }

    fn next_call(&mut self) -> CallId {
        self.calls += 1;
        CallId(self.calls)
    }

    pub(crate) fn declared(self, message: &str, kills: Option<&str>) -> Self {
        self.then(Event::Declared {
            message: message.into(),
            kind: "plain".to_owned(),
            kills: kills.map(str::to_owned),
            content: Blob::of(b"content"),
        })
    }

    /// Declared, submitted and accepted under the job id `job-of-<message>`.
    pub(crate) fn accepted(self, message: &str) -> Self {
        self.declared(message, None)
            .then(Event::Submitting {
                message: message.into(),
            })
            .then(Event::Accepted {
                message: message.into(),
                job: job(message),
            })
    }

    pub(crate) fn called(mut self, by: &Incarnation, summary: &str) -> Self {
        let call = self.next_call();
        let (action, queue) = summary.split_once(' ').unwrap_or((summary, ""));
        self.then(Event::Called {
            kind: None,
            call,
            connection: ConnectionId(1),
            author: Author::Process(by.clone()),
            dependency: "queue".into(),
            shape: Some(Shared::from(Shape {
                dependency: "queue".into(),
                asked: Asked::Action {
                    action: action.to_owned(),
                    queue: (!queue.is_empty()).then(|| queue.to_owned()),
                },
            })),
            summary: summary.into(),
            actions: summary
                .split(' ')
                .next()
                .map(str::to_owned)
                .into_iter()
                .collect(),
            messages: Vec::new(),
            attribution: Attribution::None,
            receipts: Vec::new(),
            content: None,
        })
    }

    pub(crate) fn sent(mut self, message: &str, copy: &str) -> Self {
        let call = self.next_call();
        self.then(Event::Sent {
            call,
            queue: "orders".to_owned(),
            message_id: copy.to_owned(),
            message: Some(message.into()),
            ids: Vec::new(),
        })
    }

    /// A copy that this process sends to a queue.
    pub(crate) fn sent_by(self, by: &Incarnation, queue: &str, message: &str, copy: &str) -> Self {
        let told = self.called(by, "SendMessage");
        let call = CallId(told.calls);
        told.then(Event::Sent {
            call,
            queue: queue.to_owned(),
            message_id: copy.to_owned(),
            message: Some(message.into()),
            ids: Vec::new(),
        })
    }

    pub(crate) fn delivered(self, message: &str, copy: &str) -> Self {
        self.delivered_from("orders", message, copy)
    }

    pub(crate) fn delivered_from(self, queue: &str, message: &str, copy: &str) -> Self {
        let told = self.called(&packer(1), "ReceiveMessage orders");
        let (call, receipt) = (CallId(told.calls), format!("{copy}-{}", told.calls));
        told.then(Event::Delivered {
            call,
            author: Author::Process(packer(1)),
            queue: queue.to_owned(),
            message_id: copy.to_owned(),
            receipt,
            message: Some(message.into()),
            deliverable: true,
            body: None,
        })
    }

    pub(crate) fn passed(self, stage: &str, message: &str) -> Self {
        self.passed_capturing(stage, Some(message), BTreeMap::new())
    }

    /// Passed with a message that nobody knows yet.
    pub(crate) fn passed_by_nobody(self, stage: &str) -> Self {
        self.passed_capturing(stage, None, BTreeMap::new())
    }

    /// Passed with one value picked from the call.
    pub(crate) fn passed_with(self, stage: &str, message: &str, name: &str, value: &str) -> Self {
        let captured = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        self.passed_capturing(stage, Some(message), captured)
    }

    fn passed_capturing(
        mut self,
        stage: &str,
        message: Option<&str>,
        captured: BTreeMap<String, String>,
    ) -> Self {
        let call = self.next_call();
        self.then(Event::Stage {
            stage: stage.into(),
            incarnation: packer(1),
            call,
            message: message.map(Into::into),
            captured,
        })
    }

    /// A call that asks for the deletion, and the queue's answer.
    pub(crate) fn deleted(self, message: &str, copy: &str) -> Self {
        let told = self.called(&packer(1), "DeleteMessage orders");
        let call = CallId(told.calls);
        told.deleted_by(call, message, copy)
    }

    /// The queue's answer to this call.
    pub(crate) fn deleted_by(self, call: CallId, message: &str, copy: &str) -> Self {
        self.then(Event::Deleted {
            call,
            author: Author::Process(packer(1)),
            receipt: format!("{copy}-receipt"),
            message_id: Some(copy.to_owned()),
            message: Some(message.into()),
            kept: None,
        })
    }

    /// The outside service performed the write of a message.
    pub(crate) fn wrote(self, message: &str) -> Self {
        self.then(Event::Performed {
            dependency: "carrier".into(),
            request: "POST /parcels".to_owned(),
            route: Some("POST /parcels".to_owned()),
            write: true,
            repeated: false,
            message: Some(message.into()),
            job: Some(job(message)),
            others: Vec::new(),
            group: None,
            bare: false,
            status: 202,
        })
    }

    pub(crate) fn exited(self, cause: DeathCause, in_hand: &[&str]) -> Self {
        self.then(Event::Exited {
            incarnation: packer(1),
            code: None,
            signal: Some("SIGKILL".to_owned()),
            cause,
            in_hand: in_hand.iter().map(|name| MessageName::new(*name)).collect(),
        })
    }

    pub(crate) fn armed(self, fault: u64, expected: u32) -> Self {
        self.then(Event::Armed {
            fault: FaultId(fault),
            text: format!("fault {fault}"),
            expected,
            outage: None,
        })
    }

    pub(crate) fn triggered(self, fault: u64) -> Self {
        self.then(Event::Triggered {
            fault: FaultId(fault),
            call: None,
            message: None,
        })
    }

    pub(crate) fn landed(self, fault: u64) -> Self {
        self.then(Event::Landed {
            fault: FaultId(fault),
            evidence: "seen".to_owned(),
        })
    }

    pub(crate) fn quiet(self) -> Self {
        self.then(Event::Quiet)
    }

    pub(crate) fn counted(
        self,
        total: &str,
        label: Option<&str>,
        source: &str,
        value: i64,
    ) -> Self {
        self.then(Event::Counted {
            total: total.to_owned(),
            label: label.map(str::to_owned),
            source: source.to_owned(),
            value,
        })
    }

    /// A message from its submission to the deletion of its only copy.
    pub(crate) fn shipped(self, message: &str) -> Self {
        let copy = format!("copy-of-{message}");
        self.accepted(message)
            .sent(message, &copy)
            .delivered(message, &copy)
            .passed("tried", message)
            .wrote(message)
            .passed("shipped", message)
            .deleted(message, &copy)
    }
}

pub(crate) fn job(message: &str) -> String {
    format!("job-of-{message}")
}

pub(crate) fn packer(start: u32) -> Incarnation {
    Incarnation {
        role: "packer".into(),
        instance: 1,
        start,
    }
}
