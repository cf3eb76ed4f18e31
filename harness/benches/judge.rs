//! How many entries a second are judged, ordinary ones and at the limit of attempts.
//!
//! `cargo bench --bench judge` prints one line for each history. The two figures of a kind
//! must be alike: judging is linear.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people, which fails loudly"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use rehearsal::history::{Attribution, Blob, Entry, Event, SCHEMA};
use rehearsal::ids::{Author, CallId, ConnectionId, Incarnation, MessageName, StageName};
use rehearsal::judge::{Evidence, judge};
use rehearsal::manifest::Manifest;

fn main() {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let manifest = Manifest::load(&manifest.join("tests/fixtures/judge/rehearsal.yaml")).unwrap();
    println!("entries judged in a second");
    for (label, at_the_limit) in [("ordinary", false), ("at the limit", true)] {
        for wanted in [100_000, 1_000_000] {
            let entries = history(wanted, at_the_limit);
            let begun = Instant::now();
            let judgement = judge(Evidence {
                manifest: &manifest,
                entries: &entries,
            });
            let seconds = begun.elapsed().as_secs_f64();
            assert!(judgement.violations.is_empty());
            #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
            let rate = entries.len() as f64 / seconds;
            println!("{label:>15}  {:>9} entries  {rate:>10.0}", entries.len());
        }
    }
}

/// A history of messages one after the other.
struct Told {
    entries: Vec<Entry>,
    calls: u64,
}

fn history(wanted: usize, at_the_limit: bool) -> Vec<Entry> {
    let mut told = Told {
        entries: Vec::with_capacity(wanted + 64),
        calls: 0,
    };
    told.append(Event::Began {
        schema: SCHEMA,
        system: String::new(),
        run: "run".to_owned(),
        scenario: "a bench".to_owned(),
        place: "bench.feature:1".to_owned(),
        seed: 1,
        versions: BTreeMap::new(),
    });
    let mut messages = Vec::new();
    while told.entries.len() + messages.len() < wanted {
        let message = MessageName::new(format!("M{}", messages.len()));
        told.one(&message, at_the_limit);
        messages.push(message);
    }
    told.append(Event::Quiet);
    for message in messages.into_iter().filter(|_| at_the_limit) {
        told.append(Event::Exhausted {
            message,
            limit: 2,
            counted: Some(2),
            content: Some(Blob::of(b"content")),
            last_stage: Some("weighing".to_owned()),
        });
    }
    told.entries
}

impl Told {
    fn append(&mut self, event: Event) {
        let seq = self.entries.len() as u64 + 1;
        self.entries.push(Entry {
            seq,
            at_us: seq,
            event,
        });
    }

    fn one(&mut self, message: &MessageName, at_the_limit: bool) {
        let (job, copy) = (format!("job-of-{message}"), format!("copy-of-{message}"));
        self.append(Event::Declared {
            message: message.clone(),
            kind: "plain".to_owned(),
            kills: None,
            content: Blob::of(b"content"),
        });
        let of = || message.clone();
        self.append(Event::Submitting { message: of() });
        self.append(Event::Accepted {
            message: of(),
            job: job.clone(),
        });
        let call = self.call("queue");
        self.append(Event::Sent {
            call,
            queue: "orders".to_owned(),
            message_id: copy.clone(),
            message: Some(of()),
            ids: Vec::new(),
        });
        for _ in 0..if at_the_limit { 2 } else { 1 } {
            self.delivered(message, &copy);
            self.call("database");
            self.passed("tried", message, BTreeMap::new());
        }
        if at_the_limit {
            self.delivered(message, &copy);
            let label = BTreeMap::from([("label".to_owned(), "worn out".to_owned())]);
            self.passed("put-aside", message, label);
        } else {
            self.append(Event::Performed {
                dependency: "carrier".into(),
                request: "POST /parcels".to_owned(),
                write: true,
                repeated: false,
                message: Some(of()),
                job: Some(job),
                others: Vec::new(),
                group: None,
                bare: false,
                status: 202,
                route: None,
            });
            self.passed("shipped", message, BTreeMap::new());
        }
        let call = self.call("queue");
        self.append(Event::Deleted {
            call,
            author: packer(),
            receipt: copy.clone(),
            message_id: Some(copy),
            message: Some(of()),
            kept: None,
        });
    }

    fn delivered(&mut self, message: &MessageName, copy: &str) {
        let call = self.call("queue");
        self.append(Event::Delivered {
            call,
            author: packer(),
            queue: "orders".to_owned(),
            message_id: copy.to_owned(),
            receipt: format!("{copy}-{}", self.calls),
            message: Some(message.clone()),
            deliverable: true,
            body: None,
        });
    }

    fn passed(&mut self, stage: &str, message: &MessageName, captured: BTreeMap<String, String>) {
        let Author::Process(incarnation) = packer() else {
            return;
        };
        self.append(Event::Stage {
            stage: StageName::from(stage),
            incarnation,
            call: CallId(self.calls),
            message: Some(message.clone()),
            captured,
        });
    }

    fn call(&mut self, dependency: &str) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        self.append(Event::Called {
            kind: None,
            actions: Vec::new().into(),
            receipts: Vec::new(),
            call,
            connection: ConnectionId(1),
            author: packer(),
            dependency: dependency.into(),
            summary: "a call".into(),
            messages: Vec::new(),
            attribution: Attribution::None,
            content: None,
            shape: None,
        });
        self.append(Event::Replied {
            status: None,
            wrote: false,
            call,
            summary: "200".into(),
            deliverable: true,
            ok: true,
            content: None,
        });
        call
    }
}

fn packer() -> Author {
    Author::Process(Incarnation {
        role: "packer".into(),
        instance: 1,
        start: 1,
    })
}
