//! Messages: what they carry, and their submission.

use crate::gherkin::{Step, StepError};
use crate::ids::MessageName;
use crate::ids::RoleName;
use crate::rehearsal::{Refusal, Rehearsal, Submission};
use crate::suite::Scene;

/// The phrase that declares messages.
pub(in crate::suite) const DECLARES: &str = "the messages {messages}";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::given(DECLARES)
            .alias("the message {message}")
            .doc("Declares messages. They carry what the manifest lists first under `messages.kinds`.")
            .example("Given the messages M1 to M5")
            .group("messages")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let kinds = &scene.manifest().messages.kinds;
                    let kind = kinds.keys().next().cloned().unwrap_or_default();
                    for message in arguments.messages(0) {
                        scene.plan("messages")?.declare(message, &kind);
                    }
                    Ok(())
                })
            }),
        Step::given("{messages} carry/carries a {kind} content")
            .alias("{messages} carry/carries an {kind} content")
            .alias("{messages} is/are {kind}")
            .doc("Says what messages carry, by a kind of the manifest.")
            .example("Given M3 is poison")
            .group("messages")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    scene.check_declared(arguments.messages(0))?;
                    for message in arguments.messages(0) {
                        scene.plan("what messages carry")?.declare(message, arguments.text(1));
                    }
                    Ok(())
                })
            }),
        Step::when("all messages are submitted")
            .alias("I submit all messages")
            .alias("every message is submitted")
            .known_as("submit send post enqueue everything i")
            .doc("The client submits every declared message: one after the other in their order, and 16 at a time where more than 50 are declared, no queue is FIFO and no fault waits for submissions.")
            .example("When all messages are submitted")
            .group("messages")
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    let declared = scene.declared();
                    submit(scene, &declared, AtATime::AsManyAsMay).await
                })
            }),
        Step::when("all messages are submitted one after the other")
            .known_as("submit send in order sequentially each")
            .doc("The client submits every declared message in their order, however many there are: each after the answer to the one before.")
            .example("When all messages are submitted one after the other")
            .group("messages")
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    let declared = scene.declared();
                    submit(scene, &declared, AtATime::Exactly(1)).await
                })
            }),
        Step::when("all messages are submitted {int} at a time")
            .known_as("submit send parallel concurrently at once together")
            .doc("The client submits every declared message, so many at a time.")
            .example("When all messages are submitted 16 at a time")
            .group("messages")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let declared = scene.declared();
                    let at_a_time = usize::try_from(arguments.count(0)?).unwrap_or(usize::MAX);
                    if at_a_time == 0 {
                        return Err(StepError::invalid("0 at a time submits nothing; write 1 or more"));
                    }
                    submit(scene, &declared, AtATime::Exactly(at_a_time)).await
                })
            }),
        Step::when("{messages} is/are submitted")
            .known_as("submit send sent post posted enqueued")
            .doc("The client submits these messages, one after the other.")
            .example("When M1 and M2 are submitted")
            .group("messages")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    submit(scene, arguments.messages(0), AtATime::Exactly(1)).await
                })
            }),
    ]
}

/// How many messages the client submits at a time.
#[derive(Clone, Copy)]
enum AtATime {
    Exactly(usize),
    /// [`MANY_AT_A_TIME`] of more than [`FEW`], where nothing depends on their order.
    AsManyAsMay,
}

const FEW: usize = 50;
const MANY_AT_A_TIME: usize = 16;

async fn submit(
    scene: &mut Scene,
    messages: &[MessageName],
    at_a_time: AtATime,
) -> Result<(), StepError> {
    scene.check_declared(messages)?;
    let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
        return Err(StepError::invalid("there is no message to submit")
            .with_help("declare some first: `Given the messages M1 to M5`"));
    };
    let in_order = scene.running().await?.submits_in_order();
    let at_a_time = match at_a_time {
        AtATime::Exactly(so_many) => so_many,
        AtATime::AsManyAsMay if in_order || messages.len() <= FEW => 1,
        AtATime::AsManyAsMay => MANY_AT_A_TIME,
    };
    if at_a_time == 1 {
        for message in messages {
            scene.say(&format!("submitting {message}"));
            submit_all(scene, std::slice::from_ref(message), 1).await?;
        }
        return Ok(());
    }
    scene.say(&format!(
        "submitting {first} to {last}, {at_a_time} at a time"
    ));
    submit_all(scene, messages, at_a_time).await?;
    // What stopped consumption meanwhile ends the step as it would between two messages.
    scene.running().await.map(drop)
}

async fn submit_all(
    scene: &mut Scene,
    messages: &[MessageName],
    at_a_time: usize,
) -> Result<(), StepError> {
    let rehearsal = scene.running().await?;
    let submitted = rehearsal.submit_all(messages, at_a_time);
    match submitted.await.map_err(StepError::broken)? {
        Some((message, Submission::Refused { reason, status })) => {
            Err(refused(rehearsal, &message, &reason, status))
        }
        _ => Ok(()),
    }
}

/// What it means that a submission told no job.
fn refused(
    rehearsal: &Rehearsal,
    message: &MessageName,
    reason: &str,
    status: Option<u16>,
) -> StepError {
    let submit = &rehearsal.manifest().messages.submit;
    let role = submit.role().map_or("queue", RoleName::as_str);
    match rehearsal.refusal(message, status) {
        Refusal::System => {
            let words = submit.role().map(|role| rehearsal.last_words(role));
            StepError::failed(format!(
                "{message} was not accepted: {reason}{}{}",
                rehearsal.still_on(),
                words.unwrap_or_default()
            ))
        }
        Refusal::Scenario => StepError::unproven(format!(
            "{message} was not accepted by the scenario's own doing: {reason}; submit it with `the client submits {message} until it is told its job`"
        )),
        Refusal::Harness => StepError::broken(std::io::Error::other(format!(
            "{message} got no answer ({reason}), and the {role} that was to give it is held by the scenario: say `the client submits {message} and gets no answer`{}",
            rehearsal.still_on()
        ))),
        Refusal::Request => StepError::invalid(format!("{message} was not accepted: {reason}"))
            .with_help(format!(
                "say in the manifest, under `messages.submit`, the request by which the {role} takes a message"
            )),
        Refusal::Manifest => StepError::invalid(format!("{message} was accepted: {reason}"))
            .with_help("say in the manifest, under `messages.submit.job`, where the answer holds the job's id"),
    }
}
