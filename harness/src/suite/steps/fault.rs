//! Faults: signals at stages.

use nix::sys::signal::Signal;

use crate::fault::{Effect, Fault, Times};
use crate::gherkin::{Arguments, Step, StepError, StepKind};
use crate::ids::MessageName;
use crate::suite::Scene;

const GROUP: &str = "faults";

pub(super) fn pack() -> Vec<Step<Scene>> {
    let mut pack = Vec::new();
    for (ending, example, doc) in [
        (
            " every time",
            " every time",
            "each time it passes the stage with that message",
        ),
        (
            " the first time",
            " the first time",
            "the first time it passes the stage with that message",
        ),
        (
            " the first {int} times",
            " the first 2 times",
            "the first so many times",
        ),
        (
            " on time {int}",
            " on time 2",
            "on that passage alone, counted from 1",
        ),
    ] {
        pack.push(
            Step::given(format!(
                "the {{process}} is killed at {{stage}} of {{message}}{ending}"
            ))
            .also(StepKind::When)
            .doc(format!(
                "SIGKILL hits the process at the stage: {doc}. It is started again."
            ))
            .example(format!(
                "Given the worker is killed at processing of M3{example}"
            ))
            .group(GROUP)
            .run(move |scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let message = arguments.message(2);
                    let times = times_of(ending, &arguments, 3)?;
                    arm(scene, &arguments, 0, Signal::SIGKILL, Some(message), times)
                })
            }),
        );
        pack.push(
            Step::given(format!(
                "the {{process}} gets {{signal}} at {{stage}} of {{message}}{ending}"
            ))
            .also(StepKind::When)
            .doc(format!("The process gets a signal at the stage: {doc}."))
            .example(format!(
                "Given the worker gets SIGTERM at processing of M3{example}"
            ))
            .group(GROUP)
            .run(move |scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let message = arguments.message(3);
                    let times = times_of(ending, &arguments, 4)?;
                    arm(
                        scene,
                        &arguments,
                        1,
                        arguments.signal(1),
                        Some(message),
                        times,
                    )
                })
            }),
        );
    }
    pack.push(
        Step::when("all faults are over")
            .doc("Takes back every fault that was armed.")
            .example("When all faults are over")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    scene.running().await?.disarm_all();
                    Ok(())
                })
            }),
    );
    pack
}

fn times_of(ending: &str, arguments: &Arguments, position: usize) -> Result<Times, StepError> {
    let count = || -> Result<u32, StepError> {
        match u32::try_from(arguments.count(position)?) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(StepError::invalid(
                "a fault acts at least once; write 1 or more",
            )),
        }
    };
    Ok(match ending {
        " every time" => Times::Every,
        " the first time" => Times::First(1),
        " the first {int} times" => Times::First(count()?),
        _ => Times::Nth(count()?),
    })
}

/// `shift` is the number of values between process and stage.
fn arm(
    scene: &mut Scene,
    arguments: &Arguments,
    shift: usize,
    signal: Signal,
    message: Option<MessageName>,
    times: Times,
) -> Result<(), StepError> {
    let (process, stage) = (arguments.process(0), arguments.stage(1 + shift));
    let owner = &scene.manifest().stages[&stage].role;
    if *owner != process.role {
        return Err(StepError::invalid(format!(
            "`{stage}` is a stage of the {owner}, not of the {}",
            process.role
        )));
    }
    if process.instance.is_some() {
        return Err(StepError::invalid(format!(
            "a fault at a stage hits whichever {owner} passes it"
        ))
        .with_help(format!("write `the {owner}`")));
    }
    scene.arm(Fault {
        effect: Effect::Signal(signal),
        stage,
        message,
        times,
    })
}
