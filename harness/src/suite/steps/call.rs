//! Faults at calls that no stage names: a part of the call's shape names it.

use std::sync::Arc;

use nix::sys::signal::Signal;

use super::fault::check_code;
use super::objections;
use crate::fault::{Effect, Fault, Point};
use crate::gherkin::{Arguments, Step, StepError, StepKind};
use crate::manifest::{ACTIONS, DependencyProtocol, Manifest, nearest};
use crate::shape::Wanted;
use crate::suite::Scene;
use crate::tap::Side;

const GROUP: &str = "faults";

/// What a phrase about a call does to it.
type Make = fn(&Arguments) -> Result<Effect, StepError>;

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let kill: Make = |_| Ok(Effect::Signal(Signal::SIGKILL));
    let signal: Make = |arguments| Ok(Effect::Signal(arguments.signal(1)));
    let pause: Make = |arguments| Ok(Effect::Pause(arguments.duration(1)));
    let reappear: Make = |_| Ok(Effect::Reappear);
    let at_a_side = [
        (
            "is killed before",
            Side::Before,
            0,
            kill,
            "Given the worker is killed before \"update parcels\" of M3 once",
            "SIGKILL hits the process that is about to make such a call for the message. A part of a statement names a call, an SQS action, or method and route of a request.",
        ),
        (
            "is killed after",
            Side::After,
            0,
            kill,
            "Given the worker is killed after \"DeleteMessage\" of M3 once",
            "SIGKILL hits the process whose call took effect, before it learns of it.",
        ),
        (
            "gets {signal} before",
            Side::Before,
            1,
            signal,
            "Given the worker gets SIGTERM before \"POST /parcels\" of M1 once",
            "The process that is about to make such a call for the message gets a signal.",
        ),
        (
            "gets {signal} after",
            Side::After,
            1,
            signal,
            "Given the worker gets SIGTERM after \"commit of update parcels\" of M1 once",
            "The process whose call took effect gets a signal before it learns of it.",
        ),
        (
            "is paused for {duration} before",
            Side::Before,
            1,
            pause,
            "Given the worker is paused for 2s before \"update parcels\" of M1 once",
            "The process that is about to make such a call stands still for so long (SIGSTOP), and then goes on with it (SIGCONT).",
        ),
        (
            "outlasts the visibility before",
            Side::Before,
            0,
            reappear,
            "Given the worker outlasts the visibility before \"update parcels\" of M1 once",
            "The queue hands the message out again although the process has it in hand and goes on with such a call.",
        ),
    ];
    let at_the_call: [(&str, usize, Make, &str, &str); 9] = [
        (
            "loses its request",
            0,
            |_| Ok(Effect::LoseRequest),
            "Given the worker loses its request at \"DeleteMessage\" of M1 once",
            "The call never reaches its dependency; the process loses the connection.",
        ),
        (
            "loses the reply",
            0,
            |_| Ok(Effect::LoseReply),
            "Given the worker loses the reply at \"commit of update parcels\" of M1 once",
            "The call takes effect; the process loses the connection and never learns of it.",
        ),
        (
            "is refused with {word}",
            1,
            |arguments| Ok(Effect::Answer(arguments.text(1).to_owned())),
            "Given the worker is refused with 503 at \"POST /parcels\" of M1 the first 2 times",
            "The call never reaches its dependency; the process gets an error: a status code, an error of SQS by name, or an SQLSTATE.",
        ),
        (
            "is delayed by {duration}",
            1,
            |arguments| Ok(Effect::Delay(arguments.duration(1))),
            "Given the worker is delayed by 2s at \"POST /parcels\" of M1 once",
            "The call reaches its dependency so much later.",
        ),
        (
            "is heard twice",
            0,
            |_| Ok(Effect::Duplicate),
            "Given the worker is heard twice at \"POST /parcels\" of M1 once",
            "The network repeats the call: its dependency gets it twice. Not for databases.",
        ),
        (
            "is told falsely that all is done",
            0,
            |_| Ok(Effect::Pretend),
            "Given the worker is told falsely that all is done at \"DeleteMessage\" of M1 once",
            "Nothing of the call lasts, and the process is answered as if it did: what a system looks like that never made it. Of a commit: nothing of its transaction. A statement takes place and is taken back; any other call never reaches its dependency.",
        ),
        (
            "gets one letter wrong",
            0,
            |_| Ok(Effect::Spoil),
            "Given the worker gets one letter wrong at \"insert into parcels\" of M1 once",
            "The dependency gets the call with one letter changed, in the longest text of its body or values that is no id. Over HTTP and for databases.",
        ),
        (
            "goes on to ask",
            0,
            |_| Ok(Effect::AskOn),
            "Given the worker goes on to ask at \"ReceiveMessage\" of any message every time",
            "Once it was told to end, or consumption pauses, the process begins receives though it would not, every 250 ms: what a system looks like that does not stop. What they bring stays with nobody.",
        ),
        (
            "hides too long",
            0,
            |_| Ok(Effect::Lengthen),
            "Given the worker hides too long at \"ChangeMessageVisibility\" of M1 once",
            "What the call hides stays hidden for twelve hours: a receive, or a change of visibility.",
        ),
    ];
    let later: Make = |arguments| Ok(Effect::Again(arguments.duration(1)));
    let later = phrase(
        manifest,
        "is heard again {duration} after ",
        (None, 1, later),
        Words {
            example: "Given the worker is heard again 2s after \"POST /parcels\" of M1 once",
            doc: "The dependency gets the request once more, so much later: what a system looks like that repeats it in the background. Over HTTP and SQS.",
        },
    );
    let first: Make = |arguments| Ok(Effect::AnswerFirst(arguments.duration(1)));
    let first = phrase(
        manifest,
        "is answered {duration} before ",
        (None, 1, first),
        Words {
            example: "Given the worker is answered 1s before \"commit of update parcels\" of M1 once",
            doc: "The process is told that its transaction is durable, which it becomes so much later: what a system looks like that does not wait for it.",
        },
    );
    let sided = at_a_side
        .into_iter()
        .map(|(effect, side, own, make, example, doc)| {
            let words = Words { example, doc };
            phrase(
                manifest,
                &format!("{effect} "),
                (Some(side), own, make),
                words,
            )
        });
    let plain = at_the_call
        .into_iter()
        .map(|(effect, own, make, example, doc)| {
            let words = Words { example, doc };
            phrase(manifest, &format!("{effect} at "), (None, own, make), words)
        });
    sided.chain(plain).chain([later, first]).collect()
}

#[derive(Clone, Copy)]
struct Words {
    example: &'static str,
    doc: &'static str,
}

/// A phrase about a process and a call; the numbers say at which side, how many values the
/// effect takes, and what it is.
fn phrase(
    manifest: &Arc<Manifest>,
    effect: &str,
    (side, own, make): (Option<Side>, usize, Make),
    words: Words,
) -> Step<Scene> {
    let manifest = Arc::clone(manifest);
    let fault = move |manifest: &Manifest, arguments: &Arguments| -> Result<Fault, StepError> {
        let effect = make(arguments)?;
        let process = arguments.process(0);
        let wanted = Wanted::parse(arguments.text(1 + own))
            .map_err(|error| StepError::invalid(error.to_string()))?;
        check(manifest, &wanted, &effect)?;
        let side = side.or(effect.side()).unwrap_or(Side::Before);
        Ok(Fault {
            effect,
            point: Point::Call {
                role: process.role,
                instance: process.instance,
                side,
                wanted,
            },
            whose: arguments.whose(2 + own),
            times: arguments.times(3 + own),
            may: arguments.may(3 + own),
        })
    };
    Step::given(format!(
        "the {{process}} {effect}{{string}} of {{whose}} {{times}}"
    ))
    .also(StepKind::When)
    .doc(words.doc)
    .example(words.example)
    .group(GROUP)
    .checked(move |arguments, _| objections(fault(&manifest, arguments)))
    .run(move |scene: &mut Scene, arguments, _, _| {
        Box::pin(async move {
            let fault = fault(scene.manifest(), &arguments)?;
            scene.arm(fault)
        })
    })
}

/// Whether such a call can be made at all.
pub(super) fn check_spoken(manifest: &Manifest, wanted: &Wanted) -> Result<(), StepError> {
    let protocol = wanted.protocol();
    let speaks = manifest
        .dependencies
        .keys()
        .any(|dependency| manifest.protocol_of(dependency) == protocol);
    if !speaks {
        let what = match protocol {
            DependencyProtocol::Postgres => "a statement",
            DependencyProtocol::Sqs => "an action of SQS",
            DependencyProtocol::Http => "a request",
            DependencyProtocol::Redis => "a command of Redis",
        };
        return Err(StepError::invalid(format!(
            "\"{wanted}\" names {what}, and the manifest has no dependency that takes one"
        ))
        .with_help(
            "write a part of a statement (`update parcels`), an SQS action (`DeleteMessage`), a request (`POST /parcels`) or a command of Redis (`LPUSH jobs`)",
        ));
    }
    let Some((action, queue)) = wanted.action() else {
        return Ok(());
    };
    if !ACTIONS.contains(&action) {
        let error = StepError::invalid(format!("`{action}` is no action of SQS"));
        return Err(match nearest(action, ACTIONS.iter().copied()) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error,
        });
    }
    let known: Vec<String> = manifest.queues().map(|(_, name)| name.clone()).collect();
    match queue.filter(|queue| !known.iter().any(|name| name == queue)) {
        Some(queue) => Err(StepError::invalid(format!(
            "the manifest has no queue `{queue}`; it has {}",
            known.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Whether such a call can be made at all, and the effect suits it.
fn check(manifest: &Manifest, wanted: &Wanted, effect: &Effect) -> Result<(), StepError> {
    check_spoken(manifest, wanted)?;
    let protocol = wanted.protocol();
    match effect {
        Effect::Answer(code) => check_code(protocol, code),
        Effect::Duplicate if protocol == DependencyProtocol::Postgres => {
            Err(StepError::invalid("a database connection repeats no call"))
        }
        Effect::AnswerFirst(_) if !wanted.is_commit() => Err(StepError::invalid(
            "only a commit is answered before it is made",
        )
        .with_help("write `commit of`, and a part of what it makes durable")),
        Effect::Spoil
            if !matches!(
                protocol,
                DependencyProtocol::Postgres | DependencyProtocol::Http
            ) =>
        {
            Err(StepError::invalid(
                "only a statement and a request over HTTP can get a letter wrong",
            ))
        }
        Effect::Lengthen
            if !wanted.action().is_some_and(|(action, _)| {
                action == "ReceiveMessage" || action.starts_with("ChangeMessageVisibility")
            }) =>
        {
            Err(StepError::invalid("such a call hides nothing")
                .with_help("what hides is `ReceiveMessage` and `ChangeMessageVisibility`"))
        }
        Effect::Again(_)
            if !matches!(protocol, DependencyProtocol::Http | DependencyProtocol::Sqs) =>
        {
            Err(StepError::invalid(
                "only a request over HTTP and an action of SQS are made again later",
            ))
        }
        Effect::AskOn
            if wanted
                .action()
                .is_none_or(|(action, _)| action != "ReceiveMessage") =>
        {
            Err(StepError::invalid("only who receives can ask for more")
                .with_help("write `ReceiveMessage`, and its queue if there are several"))
        }
        Effect::Delay(delay) | Effect::Pause(delay) | Effect::AnswerFirst(delay)
            if delay.is_zero() =>
        {
            Err(StepError::invalid("a delay of nothing delays nothing"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let path = std::path::Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/manifests/good.yaml"
        ));
        Manifest::load(path).unwrap_or_else(|error| panic!("{}", error.plain()))
    }

    fn objection(wanted: &str, effect: &Effect) -> Option<String> {
        let wanted = Wanted::parse(wanted).unwrap();
        let checked = check(&manifest(), &wanted, effect);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn an_effect_that_cannot_happen_to_such_a_call_is_refused() {
        assert_eq!(objection("insert into orders", &Effect::LoseReply), None);
        let told = objection("insert into orders", &Effect::Duplicate);
        assert_eq!(told.unwrap(), "a database connection repeats no call");
        let told = objection("DeleteMessage", &Effect::Answer("40001".to_owned()));
        assert!(told.unwrap().contains("no error of SQS"));
        let told = objection("RecieveMessage", &Effect::LoseReply);
        assert!(told.unwrap().contains("no action of SQS"));
        let told = objection("SendMessage elsewhere", &Effect::LoseReply);
        assert!(told.unwrap().contains("no queue `elsewhere`"));
    }
}
