//! Faults at stages: signals to the process, and interference with the very call that
//! the stage is bound to.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::barrier::patience;
use super::objections;
use crate::fault::{Effect, Fault, Point, Times, Until, Whose};
use crate::gherkin::{Arguments, Step, StepError, StepKind};
use crate::ids::{DependencyName, RoleName, StageName};
use crate::manifest::{Binding, DependencyProtocol, Manifest, nearest};
use crate::suite::Scene;
use crate::tap::Side;

const GROUP: &str = "faults";

/// What stands after the effect in every phrase about a stage.
const WHERE: &str = "at {stage} of {whose} {times}";

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let (for_holds, for_ends, for_kills) = (
        Arc::clone(manifest),
        Arc::clone(manifest),
        Arc::clone(manifest),
    );
    let phrase =
        |effect, example, doc, own, make| phrase(manifest, effect, example, doc, own, make);
    let mut pack = vec![
        phrase(
            "is killed",
            "Given the worker is killed at processing of M3 every time",
            "SIGKILL hits the process that passes the stage with the message. It is started again.",
            0,
            |_| Ok(Effect::Signal(Signal::SIGKILL)),
        ),
        phrase(
            "gets {signal}",
            "Given the worker gets SIGTERM at processing of M3 once",
            "The process that passes the stage gets a signal there. After SIGSTOP it stands until it continues.",
            1,
            |arguments| Ok(Effect::Signal(arguments.signal(1))),
        ),
        phrase(
            "is held",
            "Given the worker is held at processing of M1 once",
            "The process waits at the stage until a step lets it go on.",
            0,
            |_| Ok(Effect::Hold(None)),
        ),
        phrase(
            "loses its request",
            "Given the worker loses its request at deleted of M1 the first 3 times",
            "The call that the stage is bound to never reaches its dependency; the process loses the connection.",
            0,
            |_| Ok(Effect::LoseRequest),
        ),
        phrase(
            "loses the reply",
            "Given the worker loses the reply at committed of M1 once",
            "The call that the stage is bound to takes effect; the process loses the connection and never learns of it.",
            0,
            |_| Ok(Effect::LoseReply),
        ),
        phrase(
            "is refused with {word}",
            "Given the worker is refused with InternalError at deleted of any message every time",
            "The call never reaches its dependency; the process gets an error: a status code, an error of SQS by name, or an SQLSTATE.",
            1,
            |arguments| Ok(Effect::Answer(arguments.text(1).to_owned())),
        ),
        phrase(
            "is delayed by {duration}",
            "Given the api is delayed by 2s at submitted of M1 once",
            "The call that the stage is bound to reaches its dependency so much later.",
            1,
            |arguments| match arguments.duration(1) {
                Duration::ZERO => Err(StepError::invalid("a delay of nothing delays nothing")),
                delay => Ok(Effect::Delay(delay)),
            },
        ),
        phrase(
            "is heard twice",
            "Given the publisher is heard twice at accepted of each message once",
            "The network repeats the call: its dependency gets it twice. Not for databases.",
            0,
            |_| Ok(Effect::Duplicate),
        ),
        phrase(
            "finds its entry refused with {word}",
            "Given the publisher finds its entry refused with InternalError at accepted of M3 once",
            "One entry of a batch never reaches the queue and is reported as failed; the others are taken.",
            1,
            |arguments| Ok(Effect::RefuseEntry(arguments.text(1).to_owned())),
        ),
    ];
    pack.extend([
        Step::given("the {process} is held at {stage} of {message} until {message} has passed {stage}")
            .also(StepKind::When)
            .doc("A barrier: the process waits at the stage until another message (or the same, by another process) got that far. Where it did so already, nobody waits; of the same message at a stage of the same process only what comes later counts.")
            .example("Given the worker-1 is held at processing of M1 until M2 has passed committed")
            .group(GROUP)
            .checked(move |arguments, _| objections(held(&for_holds, arguments)))
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    scene.check_declared(arguments.messages(3))?;
                    let fault = held(scene.manifest(), &arguments)?;
                    scene.arm(fault)
                })
            }),
        Step::given("the visibility of {whose} ends at {stage} {times}")
            .also(StepKind::When)
            .doc("The queue hands the message out again although its receiver has it in hand, as standard queues may.")
            .example("Given the visibility of M1 ends at processing once")
            .group(GROUP)
            .checked(move |arguments, _| objections(reappears(&for_ends, arguments)))
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let fault = reappears(scene.manifest(), &arguments)?;
                    scene.arm(fault)
                })
            }),
        Step::given("the {process} is killed at {int} of its first {int} stages")
            .doc("SIGKILL hits the process at so many passages of any of its stages, chosen by the scenario's seed.")
            .example("Given the publisher is killed at 10 of its first 100 stages")
            .group(GROUP)
            .checked(move |arguments, _| objections(check_passes(&for_kills, &arguments.process(0).role)))
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (count, among) = (arguments.count(1)?, arguments.count(2)?);
                    let numbers = scene.choose(count, among)?;
                    let role = arguments.process(0).role;
                    check_passes(scene.manifest(), &role)?;
                    scene.arm(Fault {
                        effect: Effect::Signal(Signal::SIGKILL),
                        point: Point::AnyStage { role },
                        whose: Whose::Any,
                        times: Times::Among(numbers),
                        may: false,
                    })
                })
            }),
        Step::when("the held {process} goes on")
            .of_a_fault()
            .doc("Waits until some process of the role is held at a stage, and lets every one that is go on. If none ever is, the scenario is unproven.")
            .example("When the held worker goes on")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    let within = patience(scene);
                    let rehearsal = scene.running().await?;
                    let held = rehearsal.somebody_held(&role);
                    if tokio::time::timeout(within, held).await.is_err() {
                        return Err(StepError::unproven(format!(
                            "no {role} was held at a stage within {within:?}"
                        )));
                    }
                    rehearsal.let_go(&role);
                    Ok(())
                })
            }),
        Step::when("all faults are over")
            .of_a_fault()
            .doc("Takes back every fault that was armed.")
            .example("When all faults are over")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    scene.running().await?.disarm_all();
                    Ok(())
                })
            }),
    ]);
    pack
}

/// A phrase about a process at a stage; `own` is how many values its effect takes.
fn phrase(
    manifest: &Arc<Manifest>,
    effect: &str,
    example: &str,
    doc: &str,
    own: usize,
    make: fn(&Arguments) -> Result<Effect, StepError>,
) -> Step<Scene> {
    let manifest = Arc::clone(manifest);
    let fault = move |manifest: &Manifest, arguments: &Arguments| {
        let effect = make(arguments)?;
        let point = point(manifest, arguments, 1 + own)?;
        let (whose, times) = (arguments.whose(2 + own), arguments.times(3 + own));
        let may = arguments.may(3 + own);
        suitable(
            manifest,
            Fault {
                effect,
                point,
                whose,
                times,
                may,
            },
        )
    };
    Step::given(format!("the {{process}} {effect} {WHERE}"))
        .known_as(synonyms(effect))
        .also(StepKind::When)
        .doc(doc)
        .example(example)
        .group(GROUP)
        .checked(move |arguments, _| objections(fault(&manifest, arguments)))
        .run(move |scene: &mut Scene, arguments, _, _| {
            Box::pin(async move {
                let fault = fault(scene.manifest(), &arguments)?;
                scene.arm(fault)
            })
        })
}

/// What people call an effect.
fn synonyms(effect: &str) -> &'static str {
    match effect {
        "is killed" => "crashes crash dies die sigkill kill oom after before while during when",
        "gets {signal}" => "receives receive sent while during when after before",
        "is held" => "pauses waits stands blocked stuck",
        "loses its request" => "dropped drop lost",
        "loses the reply" => "dropped drop lost response answer",
        "is delayed by {duration}" => "slow slower late latency",
        _ => "",
    }
}

fn held(manifest: &Manifest, arguments: &Arguments) -> Result<Fault, StepError> {
    let (message, stage) = (arguments.message(3), arguments.stage(4));
    // Who is held may have got so far with the same message itself, on its way here: another
    // process has to.
    let own = message == arguments.message(2)
        && manifest.stages[&stage]
            .roles
            .contains(&arguments.process(0).role);
    let effect = Effect::Hold(Some(Until {
        message,
        stage,
        ever: !own,
    }));
    let point = point(manifest, arguments, 1)?;
    let whose = Whose::These(vec![arguments.message(2)]);
    let times = Times::First(1);
    let may = false;
    suitable(
        manifest,
        Fault {
            effect,
            point,
            whose,
            times,
            may,
        },
    )
}

fn reappears(manifest: &Manifest, arguments: &Arguments) -> Result<Fault, StepError> {
    let point = Point::stage(arguments.stage(1));
    let (whose, times, may) = (arguments.whose(0), arguments.times(2), arguments.may(2));
    let effect = Effect::Reappear;
    suitable(
        manifest,
        Fault {
            effect,
            point,
            whose,
            times,
            may,
        },
    )
}

/// The stage at this position, passed by the process that the phrase begins with.
fn point(manifest: &Manifest, arguments: &Arguments, position: usize) -> Result<Point, StepError> {
    let (process, stage) = (arguments.process(0), arguments.stage(position));
    let owners = &manifest.stages[&stage].roles;
    if !owners.contains(&process.role) {
        let owners: Vec<&str> = owners.iter().map(RoleName::as_str).collect();
        let own = manifest
            .stages
            .iter()
            .filter(|(_, stage)| stage.roles.contains(&process.role))
            .map(|(name, _)| name.as_str());
        let help = match nearest(stage.as_str(), own) {
            Some(nearest) => format!(
                "did you mean `{nearest}`, or the {}?",
                owners.join(" or the ")
            ),
            None => format!("did you mean the {}?", owners.join(" or the ")),
        };
        return Err(StepError::invalid(format!(
            "`{stage}` is a stage of the {}, not of the {}",
            owners.join(" and the "),
            process.role
        ))
        .with_help(help));
    }
    Ok(Point::Stage {
        stage,
        instance: process.instance,
    })
}

fn check_passes(manifest: &Manifest, role: &RoleName) -> Result<(), StepError> {
    let passes = manifest
        .stages
        .values()
        .any(|stage| stage.roles.contains(role));
    if passes {
        return Ok(());
    }
    Err(StepError::invalid(format!("the {role} passes no stage")))
}

/// A fault that suits the call that its stage is bound to.
fn suitable(manifest: &Manifest, fault: Fault) -> Result<Fault, StepError> {
    if let Point::Stage { stage, .. } = &fault.point {
        check_effect(manifest, stage, &fault.effect)?;
        check_reach(manifest, stage, &fault)?;
    }
    if let Effect::Delay(delay) = fault.effect {
        let step = manifest.limits.step;
        if delay >= step {
            return Err(StepError::invalid(format!(
                "a delay of {delay:?} outlasts every step, each of which may take {step:?} (`limits.step`)"
            ))
            .with_help("for a call that never arrives: `loses its request`, or an outage"));
        }
    }
    Ok(fault)
}

/// A fault that could never land where it is declared is refused.
fn check_reach(manifest: &Manifest, name: &StageName, fault: &Fault) -> Result<(), StepError> {
    let stage = &manifest.stages[name];
    if stage.is_nobodys() && fault.whose != Whose::Any {
        return Err(of_nobody(name));
    }
    let too_early = matches!(
        fault.effect,
        Effect::LoseRequest | Effect::Answer(_) | Effect::Duplicate | Effect::RefuseEntry(_)
    );
    if too_early && stage.is_at_receive(Side::After) {
        return Err(StepError::invalid(format!(
            "a {} can never be at `{name}`: what is received is known with the reply only",
            fault.effect
        ))
        .with_help(
            "write `loses the reply`, or for every receive an outage of the queue with | only | ReceiveMessage |",
        ));
    }
    Ok(())
}

/// A stage that is passed with no message is none of a message.
pub(super) fn of_nobody(stage: &StageName) -> StepError {
    StepError::invalid(format!("`{stage}` is passed with no message"))
        .with_help("write `of any message`, or name a stage that a message passes")
}

/// What can be done to a call depends on what it is.
fn check_effect(manifest: &Manifest, stage: &StageName, effect: &Effect) -> Result<(), StepError> {
    if effect.side().is_none() {
        return Ok(());
    }
    let Binding::Boundary { dependency, .. } = &manifest.stages[stage].binding else {
        return Err(StepError::invalid(format!(
            "`{stage}` is announced by the process; there is no call that could be interfered with"
        )));
    };
    check_call(manifest, dependency, effect)
}

fn check_call(
    manifest: &Manifest,
    dependency: &DependencyName,
    effect: &Effect,
) -> Result<(), StepError> {
    let protocol = manifest.protocol_of(dependency);
    match (effect, protocol) {
        (Effect::Duplicate, DependencyProtocol::Postgres) => {
            Err(StepError::invalid("a database connection repeats no call"))
        }
        (
            Effect::RefuseEntry(_),
            DependencyProtocol::Postgres | DependencyProtocol::Http | DependencyProtocol::Redis,
        ) => Err(StepError::invalid("only calls to a queue have entries")),
        (Effect::Answer(code) | Effect::RefuseEntry(code), _) => check_code(protocol, code),
        _ => Ok(()),
    }
}

/// Whether a dependency of this protocol knows such an error.
pub(super) fn check_code(protocol: DependencyProtocol, code: &str) -> Result<(), StepError> {
    let (fits, what) = match protocol {
        DependencyProtocol::Postgres => (
            is_sqlstate(code),
            "no SQLSTATE; write five characters, such as 40001",
        ),
        DependencyProtocol::Http => (is_status(code), "no status code; write 200 to 599"),
        DependencyProtocol::Sqs => (
            code.starts_with(|first: char| first.is_ascii_alphabetic()),
            "no error of SQS; write its name, such as InternalError",
        ),
        DependencyProtocol::Redis => (
            code.bytes().all(|byte| byte.is_ascii_uppercase()),
            "no error of Redis; write its first word, such as LOADING, READONLY, OOM or ERR",
        ),
    };
    if fits {
        return Ok(());
    }
    Err(StepError::invalid(format!("`{code}` is {what}")))
}

fn is_sqlstate(code: &str) -> bool {
    code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_status(code: &str) -> bool {
    code.parse::<u16>()
        .is_ok_and(|status| (200..600).contains(&status))
}
