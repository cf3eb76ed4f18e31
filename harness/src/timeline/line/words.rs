//! What an entry says, in words.

use std::fmt::Write as _;

use super::{Context, Draft, Kind, Weight};
use crate::history::{DeathCause, Event};
use crate::ids::{Author, CallId, MessageName};
use crate::tap::{Extent, Side};

/// What happens to processes.
pub(super) fn of_process(event: &Event, context: &Context<'_>) -> Option<Draft> {
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
                // A command that did what it was run for.
                DeathCause::Ordered if *code == Some(0) => (Notable, ", as ordered"),
                DeathCause::Ordered => (Grave, ", as ordered"),
                DeathCause::Announced => (Grave, ", as announced"),
                DeathCause::Shutdown => (Noise, ", at the end"),
                DeathCause::Unexpected => (Grave, ", unasked"),
            };
            let held = if in_hand.is_empty() {
                String::new()
            } else {
                format!(", with {} in hand", joined(in_hand))
            };
            Draft::new(Kind::Exited, weight, format!("{how}{why}{held}"))
                .of_process(incarnation)
                .about(in_hand)
        }
        Event::LastWords {
            incarnation, lines, ..
        } => {
            let last = lines.last().map_or("nothing", |line| line.trim());
            Draft::new(Kind::LastWords, Grave, format!("wrote last: {last}"))
                .of_process(incarnation)
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
                let _ = write!(what, ", {name} {value}");
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
pub(super) fn of_call(event: &Event, context: &Context<'_>) -> Option<Draft> {
    use Weight::{Grave, Noise, Plain};
    let of = |draft: Draft, call: CallId| {
        let (author, messages) = context.asked(call);
        draft.of_author(author).about(messages)
    };
    // Every poll ends so when its process does.
    let cut = |what: &str, call: CallId| {
        let is_poll = context.asked(call).1.is_empty();
        let weight = if is_poll { Noise } else { Plain };
        of(Draft::new(Kind::Injected, weight, what), call)
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
            cut(what, *call)
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
        Event::Abandoned { call, .. } => cut("went away before its reply", *call),
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
                .by(dependency.as_str())
                .about(message)
        }
        _ => return None,
    })
}

/// What queues do.
pub(super) fn of_queue(event: &Event, context: &Context<'_>) -> Option<Draft> {
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
            author,
            message,
            kept,
            ..
        } => {
            let what = match kept {
                Some(true) => "deleted its copy by a receipt that was over: the queue kept it",
                _ => "deleted its copy",
            };
            Draft::new(Kind::Deleted, Notable, what)
                .of_author(Some(author))
                .about(message)
        }
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
pub(super) fn of_fault(event: &Event, context: &Context<'_>) -> Option<Draft> {
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
pub(super) fn of_course(event: &Event) -> Draft {
    use Weight::{Grave, Noise, Notable, Plain};
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
        Event::DeathExpected { role, instance } => {
            let which = instance.map_or(String::new(), |instance| format!("-{instance}"));
            Draft::new(
                Kind::Course,
                Plain,
                format!("the {role}{which} may die now"),
            )
        }
        Event::LeftStanding { incarnation } => {
            Draft::new(Kind::Signal, Grave, "stands still for good").of_process(incarnation)
        }
        Event::CutOff { incarnation } => {
            Draft::new(Kind::Fault, Grave, "is cut off").of_process(incarnation)
        }
        Event::Reached { role, instance } => {
            Draft::new(Kind::Fault, Grave, "is reached again").by(format!("{role}-{instance}"))
        }
        Event::Redriven { from, to, message } => {
            Draft::new(Kind::Sent, Notable, format!("sends {from} again as {to}"))
                .by("harness")
                .about(message)
        }
        Event::Concluded { verdict, .. } => {
            Draft::new(Kind::Course, Notable, format!("its steps: {verdict}"))
        }
        Event::Quiet => Draft::new(Kind::Course, Notable, "everything is quiet"),
        Event::Lingers => Draft::new(Kind::Course, Plain, "watches what comes later"),
        Event::Ended { .. } => Draft::new(Kind::Course, Plain, "ended"),
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
        Event::Observed {
            message,
            observation,
            value,
            ..
        } => Draft::new(
            Kind::Counted,
            Plain,
            match value {
                Some(value) => format!("its {observation} reads {value:?}"),
                None => format!("there is no {observation} of it"),
            },
        )
        .by("system")
        .about([message]),
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
