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
            .doc("The client submits every declared message, one after the other in their order.")
            .example("When all messages are submitted")
            .group("messages")
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    let declared = scene.declared();
                    submit(scene, &declared).await
                })
            }),
        Step::when("{messages} is/are submitted")
            .known_as("submit send sent post posted enqueued")
            .doc("The client submits these messages, one after the other.")
            .example("When M1 and M2 are submitted")
            .group("messages")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { submit(scene, arguments.messages(0)).await })
            }),
    ]
}

async fn submit(scene: &mut Scene, messages: &[MessageName]) -> Result<(), StepError> {
    scene.check_declared(messages)?;
    if messages.is_empty() {
        return Err(StepError::invalid("there is no message to submit")
            .with_help("declare some first: `Given the messages M1 to M5`"));
    }
    for message in messages {
        scene.say(&format!("submitting {message}"));
        let rehearsal = scene.running().await?;
        match rehearsal.submit(message).await.map_err(StepError::broken)? {
            Submission::Accepted { .. } => {}
            Submission::Refused { reason, status } => {
                return Err(refused(rehearsal, message, &reason, status));
            }
        }
    }
    Ok(())
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
        Refusal::System => StepError::failed(format!(
            "{message} was not accepted: {reason}{}",
            rehearsal.still_on()
        )),
        Refusal::Scenario => StepError::unproven(format!(
            "{message} was not accepted by the scenario's own doing: {reason}; submit it with `the client submits {message} until it is told its job`"
        )),
        Refusal::Harness => StepError::broken(std::io::Error::other(format!(
            "{message} got no answer ({reason}), and the {role} that was to give it is held by the scenario: say `the client submits {message} and gets no answer`{}",
            rehearsal.still_on()
        ))),
        Refusal::Manifest => StepError::invalid(format!("{message} was accepted: {reason}"))
            .with_help("say in the manifest, under `messages.submit.job`, where the answer holds the job's id"),
    }
}
