//! One line an entry.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::history::{DeathCause, Entry, Event};
use crate::ids::{Author, CallId, FaultId, Incarnation, MessageName};
use crate::tap::{Extent, Side};

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

    fn by(mut self, who: impl ToString) -> Self {
        self.who = who.to_string();
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
        what,
        messages,
        process,
    }
}

fn told(event: &Event, context: &Context<'_>) -> Draft {
    of_process(event, context)
        .or_else(|| of_call(event, context))
        .or_else(|| of_queue(event, context))
        .or_else(|| of_fault(event, context))
        .unwrap_or_else(|| of_course(event))
}

/// What happens to processes.
fn of_process(event: &Event, context: &Context<'_>) -> Option<Draft> {
    use Weight::{Grave, Noise, Notable};
    Some(match event {
        Event::Started { incarnation, pid } => {
            Draft::new(Kind::Started, Notable, format!("started (pid {pid})"))
                .of_process(incarnation)
        }
        Event::Ready { incarnation } => {
            Draft::new(Kind::Started, Noise, "ready").of_process(incarnation)
        }
        Event::Signalled {
            incarnation,
            signal,
            fault,
        } => {
            let by =
                fault.map_or_else(String::new, |fault| format!(" by {}", context.fault(fault)));
            let weight = if fault.is_some() { Grave } else { Noise };
            Draft::new(Kind::Signal, weight, format!("gets {signal}{by}")).of_process(incarnation)
        }
        Event::Exited {
            incarnation,
            code,
            signal,
            cause,
            in_hand,
        } => {
            let how = match (code, signal) {
                (_, Some(signal)) => format!("died of {signal}"),
                (Some(code), None) => format!("ended with exit code {code}"),
                (None, None) => "ended".to_owned(),
            };
            let (weight, why) = match cause {
                DeathCause::Ordered => (Grave, ", as ordered"),
                DeathCause::Announced => (Grave, ", as announced"),
                DeathCause::Shutdown => (Noise, ", at the end"),
                DeathCause::Unexpected => (Grave, ", unasked"),
            };
            let held = match in_hand.is_empty() {
                true => String::new(),
                false => format!(", with {} in hand", joined(in_hand)),
            };
            Draft::new(Kind::Exited, weight, format!("{how}{why}{held}"))
                .of_process(incarnation)
                .about(in_hand)
        }
        Event::LastWords {
            incarnation, lines, ..
        } => {
            let last = lines.last().map_or("nothing", |line| line.trim());
            Draft::new(Kind::Exited, Grave, format!("wrote last: {last}")).of_process(incarnation)
        }
        Event::Drained { incarnation } => {
            Draft::new(Kind::Detail, Noise, "its connections have ended").of_process(incarnation)
        }
        Event::Stage {
            stage,
            incarnation,
            message,
            captured,
            ..
        } => {
            let mut what = format!("passed `{stage}`");
            for (name, value) in captured {
                what.push_str(&format!(", {name} {value}"));
            }
            Draft::new(Kind::Stage, Notable, what)
                .of_process(incarnation)
                .about(message)
        }
        Event::Receiving {
            incarnation,
            at_most,
            ..
        } => Draft::new(
            Kind::Detail,
            Noise,
            format!("asks for at most {at_most} messages"),
        )
        .of_process(incarnation),
        _ => return None,
    })
}

/// Calls, and what became of them.
fn of_call(event: &Event, context: &Context<'_>) -> Option<Draft> {
    use Weight::{Grave, Noise, Plain};
    let of = |draft: Draft, call: CallId| {
        let (author, messages) = context.asked(call);
        draft.of_author(author).about(messages)
    };
    Some(match event {
        Event::Connected {
            author, dependency, ..
        } => Draft::new(Kind::Detail, Noise, format!("connected to {dependency}"))
            .of_author(Some(author)),
        Event::Disconnected { reason, .. } => {
            Draft::new(Kind::Detail, Noise, format!("a connection ended: {reason}"))
        }
        Event::Called {
            call,
            author,
            dependency,
            summary,
            messages,
            ..
        } => {
            let reply = context.calls.get(call).and_then(|asked| asked.reply);
            let reply = reply.map_or_else(String::new, |reply| format!(" → {reply}"));
            // Polls and pings of nobody's message are the noise of every system.
            let weight = if messages.is_empty() { Noise } else { Plain };
            Draft::new(
                Kind::Call,
                weight,
                format!("{dependency}: {}{reply}", context.bare(&one_line(summary))),
            )
            .of_author(Some(author))
            .about(messages)
        }
        Event::Replied {
            call, summary, ok, ..
        } => {
            let weight = if *ok { Noise } else { Plain };
            of(
                Draft::new(Kind::Reply, weight, format!("is answered {summary}")),
                *call,
            )
        }
        Event::NotForwarded { call, extent } => {
            let what = match extent {
                Extent::Nothing => "its call reached nobody",
                _ => "its call was cut off on its way",
            };
            of(Draft::new(Kind::Injected, Plain, what), *call)
        }
        Event::Injected {
            call,
            side,
            what,
            fault,
        } => {
            let side = match side {
                Side::Before => "before the call arrived",
                Side::After => "after the call took effect",
            };
            let by =
                fault.map_or_else(String::new, |fault| format!(" by {}", context.fault(fault)));
            of(
                Draft::new(Kind::Injected, Grave, format!("{side}: {what}{by}")),
                *call,
            )
        }
        Event::Abandoned { call, .. } => of(
            Draft::new(Kind::Injected, Plain, "went away before its reply"),
            *call,
        ),
        Event::Performed {
            dependency,
            request,
            write,
            repeated,
            message,
            status,
            ..
        } => {
            let what = match (write, repeated) {
                (true, _) => format!("performed {request}, answers {status}"),
                (false, true) => format!("{request} again by its key, answers {status}"),
                (false, false) => format!("{request}, answers {status}"),
            };
            let weight = if *write || *repeated {
                Weight::Notable
            } else {
                Plain
            };
            Draft::new(Kind::Performed, weight, what)
                .by(dependency)
                .about(message)
        }
        _ => return None,
    })
}

/// What queues do.
fn of_queue(event: &Event, context: &Context<'_>) -> Option<Draft> {
    use Weight::{Noise, Notable};
    let by = |draft: Draft, call: CallId| draft.of_author(context.asked(call).0);
    Some(match event {
        Event::Sent {
            call,
            queue,
            message,
            ..
        } => by(
            Draft::new(
                Kind::Sent,
                Notable,
                format!("sent a copy to {}", context.bare(queue)),
            )
            .about(message),
            *call,
        ),
        Event::Placed {
            call,
            group,
            sequence,
            ..
        } => by(
            Draft::new(
                Kind::Detail,
                Noise,
                format!("it puts it into group {group} as {sequence}"),
            ),
            *call,
        ),
        Event::Delivered {
            author,
            queue,
            message,
            deliverable,
            ..
        } => {
            let lost = if *deliverable {
                ""
            } else {
                ", and was gone before it arrived"
            };
            Draft::new(
                Kind::Delivered,
                Notable,
                format!("received a copy from {}{lost}", context.bare(queue)),
            )
            .of_author(Some(author))
            .about(message)
        }
        Event::Deleted {
            author, message, ..
        } => Draft::new(Kind::Deleted, Notable, "deleted its copy")
            .of_author(Some(author))
            .about(message),
        Event::VisibilityChanged {
            call,
            message,
            seconds,
            ..
        } => {
            let what = match seconds {
                0 => "gave its copy back".to_owned(),
                _ => format!("hides its copy for {seconds} s more"),
            };
            by(
                Draft::new(Kind::Visible, Notable, what).about(message),
                *call,
            )
        }
        Event::Expired { message, owner, .. } => Draft::new(
            Kind::Visible,
            Notable,
            format!("makes the copy of {owner}, which is gone, visible at once"),
        )
        .about(message),
        _ => return None,
    })
}

/// Faults, outages, and what the harness could not tell.
fn of_fault(event: &Event, context: &Context<'_>) -> Option<Draft> {
    use Weight::{Grave, Noise, Notable};
    Some(match event {
        Event::Armed { text, .. } => Draft::new(Kind::Fault, Notable, format!("arms `{text}`")),
        Event::Triggered {
            fault,
            call,
            message,
        } => {
            let draft = Draft::new(
                Kind::Fault,
                Grave,
                format!("triggers {}", context.fault(*fault)),
            );
            let author = call.and_then(|call| context.asked(call).0);
            let process = author.and_then(Author::incarnation).cloned();
            Draft { process, ..draft }.about(message)
        }
        Event::Landed { evidence, .. } => {
            Draft::new(Kind::Fault, Grave, format!("landed: {evidence}"))
        }
        Event::Missed { fault, reason } => Draft::new(
            Kind::Fault,
            Grave,
            format!("missed {}: {reason}", context.fault(*fault)),
        ),
        Event::Disarmed { fault } => Draft::new(
            Kind::Fault,
            Noise,
            format!("{} is over", context.fault(*fault)),
        ),
        Event::Doubt { reason } => {
            Draft::new(Kind::Trouble, Grave, format!("cannot tell: {reason}"))
        }
        Event::Trouble { reason } => Draft::new(Kind::Trouble, Grave, reason),
        Event::Warned { warning } => Draft::new(Kind::Trouble, Notable, warning),
        _ => return None,
    })
}

/// The scenario's own course.
fn of_course(event: &Event) -> Draft {
    use Weight::{Noise, Notable, Plain};
    match event {
        Event::Began { scenario, seed, .. } => Draft::new(
            Kind::Course,
            Notable,
            format!("begins: {scenario} (seed {seed})"),
        ),
        Event::Step { text } => Draft::new(Kind::Step, Notable, text),
        Event::Declared {
            message,
            kind,
            kills,
            ..
        } => {
            let kills = kills
                .as_ref()
                .map_or_else(String::new, |role| format!(", and kills the {role}"));
            Draft::new(Kind::Client, Noise, format!("is {kind}{kills}")).about([message])
        }
        Event::Submitting { message } => Draft::new(Kind::Client, Noise, "submits it")
            .by("client")
            .about([message]),
        Event::Accepted { message, job } => {
            Draft::new(Kind::Client, Notable, format!("knows it as job {job}"))
                .by("client")
                .about([message])
        }
        Event::Refused { message, reason } => {
            Draft::new(Kind::Client, Notable, format!("was refused: {reason}"))
                .by("client")
                .about([message])
        }
        Event::Operator { command, code, .. } => {
            let code = code.map_or_else(String::new, |code| format!(" → {code}"));
            Draft::new(Kind::Course, Plain, format!("{command}{code}")).by("operator")
        }
        Event::Consumption { mode, .. } => {
            Draft::new(Kind::Course, Notable, format!("consumption is {mode}")).by("system")
        }
        Event::StopExpected => Draft::new(Kind::Course, Plain, "consumption may stop now"),
        Event::Concluded { verdict, .. } => {
            Draft::new(Kind::Course, Notable, format!("its steps: {verdict}"))
        }
        Event::Quiet => Draft::new(Kind::Course, Notable, "everything is quiet"),
        Event::Lingers => Draft::new(Kind::Course, Plain, "watches what comes later"),
        Event::Ended => Draft::new(Kind::Course, Plain, "ended"),
        Event::Counted {
            total,
            label,
            source,
            value,
        } => {
            let of = label
                .as_ref()
                .map_or_else(String::new, |label| format!(" ({label})"));
            let who = if source == "claim" {
                "system"
            } else {
                "harness"
            };
            Draft::new(Kind::Counted, Plain, format!("counts {total}{of}: {value}")).by(who)
        }
        Event::Exhausted { message, limit, .. } => Draft::new(
            Kind::Counted,
            Plain,
            format!("has a record at the limit of {limit} attempts"),
        )
        .by("system")
        .about([message]),
        Event::Alias { id, message } => {
            Draft::new(Kind::Detail, Noise, format!("is also known as {id}")).about([message])
        }
        _ => Draft::new(Kind::Detail, Noise, "something else"),
    }
}

fn joined(messages: &[MessageName]) -> String {
    let names: Vec<&str> = messages.iter().map(MessageName::as_str).collect();
    names.join(", ")
}

/// Statements may be written over several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
