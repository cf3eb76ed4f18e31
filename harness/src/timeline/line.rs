//! One line an entry.

mod words;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::history::{Entry, Event};
use crate::ids::{Author, CallId, FaultId, Incarnation, MessageName};

/// How much a line matters to somebody who reads the course of a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Said already by another line, or of no message.
    Noise,
    /// A call.
    Plain,
    /// Where a message goes: deliveries, stages, ends.
    Notable,
    /// What disturbs: deaths, faults, outages, doubts.
    Grave,
}

/// What kind of thing a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The scenario's own course.
    Course,
    /// A step of the scenario.
    Step,
    /// A message and its client.
    Client,
    /// A call.
    Call,
    /// A call's reply.
    Reply,
    /// A stage was passed.
    Stage,
    /// A queue took a message.
    Sent,
    /// A queue handed a message over.
    Delivered,
    /// A message was deleted from its queue.
    Deleted,
    /// A message becomes visible again, or later.
    Visible,
    /// An outside write.
    Performed,
    /// A process starts or is ready.
    Started,
    /// A process gets a signal.
    Signal,
    /// A process ended.
    Exited,
    /// What a process wrote before it ended.
    LastWords,
    /// A fault or an outage.
    Fault,
    /// What was done to a call.
    Injected,
    /// A figure.
    Counted,
    /// The harness could not tell, or could not do something.
    Trouble,
    /// What matters to machines alone.
    Detail,
}

/// An entry, told in a line.
#[derive(Clone, Debug)]
pub struct Line {
    /// The entry's place in the history.
    pub seq: u64,
    /// Microseconds since the rehearsal began.
    pub at_us: u64,
    /// What kind of thing happened.
    pub kind: Kind,
    /// How much it matters.
    pub weight: Weight,
    /// Who did it: a process, a dependency, the client, the harness.
    pub who: String,
    /// What.
    pub what: String,
    /// Which messages it is about.
    pub messages: Vec<MessageName>,
    /// Whose process it concerns.
    pub process: Option<Incarnation>,
}

/// A call, for the lines that follow from it.
struct Asked<'e> {
    author: &'e Author,
    messages: &'e [MessageName],
    /// Its outcome, once it is known.
    reply: Option<&'e str>,
}

/// What earlier and later entries say that a line needs.
struct Context<'e> {
    calls: HashMap<CallId, Asked<'e>>,
    faults: HashMap<FaultId, &'e str>,
    /// What the names of this rehearsal's queues begin with at their server, its number
    /// left out.
    prefix: String,
}

impl<'e> Context<'e> {
    fn of(entries: &'e [Entry]) -> Self {
        let (mut calls, mut faults) = (HashMap::new(), HashMap::new());
        let mut prefix = String::new();
        for entry in entries {
            match &entry.event {
                Event::Began { run, .. } => prefix = format!("{run}-"),
                Event::Called {
                    call,
                    author,
                    messages,
                    ..
                } => {
                    let asked = Asked {
                        author,
                        messages,
                        reply: None,
                    };
                    calls.insert(*call, asked);
                }
                Event::Replied { call, summary, .. } => {
                    if let Some(asked) = calls.get_mut(call) {
                        asked.reply = Some(summary);
                    }
                }
                Event::Armed { fault, text, .. } => {
                    faults.insert(*fault, text.as_str());
                }
                _ => {}
            }
        }
        Self {
            calls,
            faults,
            prefix,
        }
    }

    /// A text without what every rehearsal's queues are called differently by.
    fn bare(&self, text: &str) -> String {
        let Some((before, after)) = (!self.prefix.is_empty())
            .then(|| text.split_once(&self.prefix))
            .flatten()
        else {
            return text.to_owned();
        };
        let name = after.trim_start_matches(|c: char| c.is_ascii_digit());
        match name.strip_prefix('-') {
            Some(name) => format!("{before}{name}"),
            None => text.to_owned(),
        }
    }

    fn fault(&self, fault: FaultId) -> String {
        match self.faults.get(&fault) {
            Some(text) => format!("`{text}`"),
            None => fault.to_string(),
        }
    }

    /// Who made a call, and about which messages.
    fn asked(&self, call: CallId) -> (Option<&'e Author>, &'e [MessageName]) {
        match self.calls.get(&call) {
            Some(asked) => (Some(asked.author), asked.messages),
            None => (None, &[]),
        }
    }
}

/// Tells a whole history.
pub fn lines(entries: &[Entry]) -> Vec<Line> {
    let context = Context::of(entries);
    entries.iter().map(|entry| line(entry, &context)).collect()
}

/// A line that is being made.
struct Draft {
    kind: Kind,
    weight: Weight,
    who: String,
    what: String,
    messages: Vec<MessageName>,
    process: Option<Incarnation>,
}

impl Draft {
    fn new(kind: Kind, weight: Weight, what: impl Into<String>) -> Self {
        Self {
            kind,
            weight,
            who: "harness".to_owned(),
            what: what.into(),
            messages: Vec::new(),
            process: None,
        }
    }

    fn by(mut self, who: impl Into<String>) -> Self {
        self.who = who.into();
        self
    }

    fn of_process(mut self, incarnation: &Incarnation) -> Self {
        self.who = incarnation.to_string();
        self.process = Some(incarnation.clone());
        self
    }

    fn of_author(self, author: Option<&Author>) -> Self {
        match author {
            Some(Author::Process(incarnation)) => self.of_process(incarnation),
            Some(Author::Client) => self.by("client"),
            None => self,
        }
    }

    fn about<'m>(mut self, messages: impl IntoIterator<Item = &'m MessageName>) -> Self {
        self.messages = messages.into_iter().cloned().collect();
        self
    }
}

fn line(entry: &Entry, context: &Context<'_>) -> Line {
    let Draft {
        kind,
        weight,
        who,
        what,
        messages,
        process,
    } = told(&entry.event, context);
    Line {
        seq: entry.seq,
        at_us: entry.at_us,
        kind,
        weight,
        who,
        what: first_line(what),
        messages,
        process,
    }
}

/// Reasons may hold the output of a process; the entry itself has all of it.
fn first_line(what: String) -> String {
    match what.split_once('\n') {
        Some((first, _)) => format!("{first} …"),
        None => what,
    }
}

fn told(event: &Event, context: &Context<'_>) -> Draft {
    words::of_process(event, context)
        .or_else(|| words::of_call(event, context))
        .or_else(|| words::of_queue(event, context))
        .or_else(|| words::of_fault(event, context))
        .unwrap_or_else(|| words::of_course(event))
}
