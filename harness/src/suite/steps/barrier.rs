//! What a scenario waits for before it goes on, and what it looks at in passing.

use std::time::Duration;

use super::objections;
use crate::gherkin::{Row, Step, StepError, StepKind};
use crate::ids::{MessageName, StageName};
use crate::rehearsal::CopyEnd;
use crate::suite::Scene;

const GROUP: &str = "order of events";
/// Between two looks at what tells of no changes.
pub(super) const TICK: Duration = Duration::from_millis(20);

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("{messages} has/have passed {stage}")
            .doc("Waits until each of these messages has passed the stage.")
            .example("When M1 has passed processing")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    wait(scene, arguments.messages(0), &arguments.stage(1), 1).await
                })
            }),
        Step::when("{messages} has/have passed {stage} {int} times")
            .doc("Waits until each of these messages has passed the stage so many times.")
            .example("When M1 has passed received 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let times = usize::try_from(arguments.count(2)?).unwrap_or(usize::MAX);
                    wait(scene, arguments.messages(0), &arguments.stage(1), times).await
                })
            }),
        Step::then("{messages} pass/passes {stage} within {duration}")
            .also(StepKind::When)
            .known_as("soon quickly promptly deadline limit by itself at most")
            .doc("Waits until each of these messages has passed the stage, for so long from now. That it comes in this time is what the scenario promises: otherwise it fails by its expectation, and not for want of time.")
            .example("Then M1 passes committed within 10s")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (stage, within) = (arguments.stage(1), arguments.duration(2));
                    promised(scene, arguments.messages(0), &stage, 1, within).await
                })
            }),
        Step::then("{messages} pass/passes {stage} {int} times within {duration}")
            .also(StepKind::When)
            .doc("The same for so many passages of each.")
            .example("Then M1 passes received 2 times within 10s")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (stage, within) = (arguments.stage(1), arguments.duration(3));
                    let times = usize::try_from(arguments.count(2)?).unwrap_or(usize::MAX);
                    promised(scene, arguments.messages(0), &stage, times, within).await
                })
            }),
        Step::then("the {observation} of {message} becomes {string} within {duration}")
            .also(StepKind::When)
            .doc("Looks again and again until it reads so, for so long from now. That it does so in this time is what the scenario promises.")
            .example("Then the client state of M1 becomes \"succeeded\" within 10s")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    let (expected, within) = (arguments.text(2), arguments.duration(3));
                    scene.say(&format!("waiting until the {observation} of {message} is {expected:?}"));
                    let deadline = tokio::time::Instant::now() + within;
                    loop {
                        let seen = seen(scene, observation, &message).await?;
                        if seen == expected {
                            return Ok(());
                        }
                        if tokio::time::Instant::now() > deadline {
                            let name = format!("{observation} of {message}");
                            let text = format!("the {name}: expected {expected:?} within {within:?}, seen {seen:?}");
                            return Err(StepError::differs(text, vec![Row::new(name, expected, seen)]));
                        }
                        tokio::time::sleep(TICK).await;
                    }
                })
            }),
        Step::when("the {observation} of {message} becomes {string}")
            .also(StepKind::Then)
            .doc("Looks again and again until it reads so, as a client does that polls.")
            .example("When the client state of M1 becomes \"succeeded\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    scene.say(&format!("waiting until the {observation} of {message} is {:?}", arguments.text(2)));
                    let within = patience(scene);
                    let deadline = tokio::time::Instant::now() + within;
                    loop {
                        let seen = seen(scene, observation, &message).await?;
                        if seen == arguments.text(2) {
                            return Ok(());
                        }
                        if tokio::time::Instant::now() > deadline {
                            return Err(StepError::late(format!(
                                "the {observation} of {message} is {seen:?} after {within:?}"
                            )));
                        }
                        tokio::time::sleep(TICK).await;
                    }
                })
            }),
        Step::then("the {observation} of {message} is still {string}")
            .also(StepKind::When)
            .doc("Reads it at once, while things go on.")
            .example("Then the client state of M1 is still \"pending\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    let (expected, seen) = (arguments.text(2), seen(scene, observation, &message).await?);
                    if seen == expected {
                        return Ok(());
                    }
                    let name = format!("{observation} of {message}");
                    let text = format!("the {name}: expected {expected:?}, seen {seen:?}");
                    Err(StepError::differs(text, vec![Row::new(name, expected, seen)]))
                })
            }),
        Step::then("{messages} has/have not passed {stage} yet")
            .also(StepKind::When)
            .doc("Looks at once, while things go on: none of these messages has passed the stage so far. One that was not submitted before leaves the scenario unproven.")
            .example("Then M1 has not passed deleted yet")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let stage = arguments.stage(1);
                    scene.check_known(arguments.messages(0)).await?;
                    for message in arguments.messages(0) {
                        if scene.running().await?.passages(message, &stage) > 0 {
                            return Err(StepError::failed(format!("{message} has passed {stage}")));
                        }
                    }
                    Ok(())
                })
            }),
        Step::when("the visibility of {message} has been extended {int} time(s)")
            .doc("Waits until receivers of the message asked for more time so often.")
            .example("When the visibility of M1 has been extended 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let times = usize::try_from(arguments.count(1)?).unwrap_or(usize::MAX);
                    let (message, within) = (arguments.message(0), patience(scene));
                    let rehearsal = scene.running().await?;
                    let extended = rehearsal.extended(&message, times);
                    if tokio::time::timeout(within, extended).await.is_ok() {
                        return Ok(());
                    }
                    let seen = rehearsal.extensions(&message);
                    Err(StepError::late(format!(
                        "the visibility of {message} has been extended {seen} of {times} times after {within:?}"
                    )))
                })
            }),
        Step::when("the visibility of {messages} ends")
            .a_fault()
            .known_as("timeout expires expired redelivered delivered again over visible")
            .doc("What its receivers have in hand becomes visible, as it would when the visibility timeout ends.")
            .example("When the visibility of M1 ends")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    scene.check_declared(arguments.messages(0))?;
                    for message in arguments.messages(0) {
                        if !scene.running().await?.end_visibility(message).await {
                            return Err(StepError::failed(format!("nobody has {message} in hand")));
                        }
                    }
                    Ok(())
                })
            }),
        Step::when("the visibility of copy {int} of {message} ends")
            .a_fault()
            .known_as("first second other duplicate single")
            .doc("The same for one copy of a message that several queue messages carry. Copies are counted from 1, in the order in which queues took them.")
            .example("When the visibility of copy 2 of M1 ends")
            .group(GROUP)
            .checked(|arguments, _| {
                let none = || StepError::invalid("copies are counted from 1");
                objections(if arguments.int(0) == 0 { Err(none()) } else { Ok(()) })
            })
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let copy = usize::try_from(arguments.count(0)?).unwrap_or(usize::MAX);
                    let message = arguments.message(1);
                    scene.check_declared(arguments.messages(1))?;
                    let ended = scene.running().await?.end_visibility_of_copy(&message, copy);
                    match ended.await {
                        CopyEnd::Ended => Ok(()),
                        CopyEnd::NotInHand => Err(StepError::failed(format!(
                            "nobody has copy {copy} of {message} in hand"
                        ))),
                        CopyEnd::NoCopy(count) => Err(StepError::failed(format!(
                            "{message} has no copy {copy}: queues took {count} of it"
                        ))),
                    }
                })
            }),
    ]
}

async fn wait(
    scene: &mut Scene,
    messages: &[MessageName],
    stage: &StageName,
    times: usize,
) -> Result<(), StepError> {
    scene.check_declared(messages)?;
    for message in messages {
        scene.say(&format!("waiting until {message} has passed {stage}"));
        let within = patience(scene);
        let rehearsal = scene.running().await?;
        let passed = rehearsal.passed(message, stage, times);
        if tokio::time::timeout(within, passed).await.is_err() {
            let seen = rehearsal.passages(message, stage);
            return Err(StepError::late(format!(
                "{message} has passed {stage} {seen} of {times} times after {within:?}"
            )));
        }
    }
    Ok(())
}

/// Waits for what must come within this time.
async fn promised(
    scene: &mut Scene,
    messages: &[MessageName],
    stage: &StageName,
    times: usize,
    within: Duration,
) -> Result<(), StepError> {
    scene.check_declared(messages)?;
    let deadline = tokio::time::Instant::now() + within;
    for message in messages {
        scene.say(&format!("waiting until {message} has passed {stage}"));
        let rehearsal = scene.running().await?;
        let passed = rehearsal.passed(message, stage, times);
        if tokio::time::timeout_at(deadline, passed).await.is_err() {
            let seen = rehearsal.passages(message, stage);
            return Err(StepError::failed(format!(
                "{message} was to pass {stage} within {within:?}, and has passed it {seen} of {times} times"
            )));
        }
    }
    Ok(())
}

/// How long to wait for what must come: shorter than the step itself, so that what did
/// not come is told.
pub(super) fn patience(scene: &Scene) -> Duration {
    let limits = &scene.manifest().limits;
    limits.quiet.min(limits.step.mul_f64(0.75))
}

async fn seen(
    scene: &mut Scene,
    observation: &str,
    message: &MessageName,
) -> Result<String, StepError> {
    scene.check_declared(std::slice::from_ref(message))?;
    let rehearsal = scene.running().await?;
    let observed = rehearsal
        .observe(observation, message)
        .await
        .map_err(StepError::broken)?;
    Ok(match observed {
        Ok(Some(value)) => String::from_utf8_lossy(&value).into_owned(),
        Ok(None) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    })
}
