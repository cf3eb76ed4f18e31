//! What an operator does and sees.

use crate::gherkin::{Row, Step, StepError, StepKind};
use crate::history::Blob;
use crate::ids::MessageName;
use crate::suite::Scene;

const GROUP: &str = "operator";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("the operator runs {command} for {message}")
            .alias("the operator runs {command} on {message}")
            .known_as("replays runs executes")
            .doc("Runs an operator's command of the manifest; it must succeed.")
            .example("When the operator runs replay for M3")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    operate(scene, arguments.text(0), Some(&arguments.message(1)), None).await
                })
            }),
        Step::when("the operator runs {command}")
            .doc("Runs an operator's command that concerns no single message; it must succeed.")
            .example("When the operator runs status")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { operate(scene, arguments.text(0), None, None).await })
            }),
        Step::when("the operator runs {command} {string} for {message}")
            .doc("Runs an operator's command with an argument; it must succeed.")
            .example("When the operator runs resolve \"not done\" for M3")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let argument = Some(arguments.text(1));
                    operate(scene, arguments.text(0), Some(&arguments.message(2)), argument).await
                })
            }),
        Step::then("the operator may not run {command} for {message}")
            .also(StepKind::When)
            .doc("Runs an operator's command; the system must refuse it.")
            .example("Then the operator may not run replay for M3")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (command, message) = (arguments.text(0), arguments.message(1));
                    scene.check_declared(std::slice::from_ref(&message))?;
                    let rehearsal = scene.running().await?;
                    let answer = rehearsal
                        .operate(command, Some(&message), None)
                        .await
                        .map_err(StepError::broken)?;
                    if answer.outcome.is_success() {
                        return Err(StepError::failed(format!(
                            "`{}` succeeded; it should have been refused",
                            answer.command
                        )));
                    }
                    scene.keep_answer(answer);
                    Ok(())
                })
            }),
        Step::then("the operator is told {string}")
            .doc("The last operator's command printed this text, as answer or as complaint.")
            .example("Then the operator is told \"cause\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let expected = arguments.text(0);
                    let answer = scene.answer()?;
                    let printed = String::from_utf8_lossy(&answer.output);
                    if printed.contains(expected) || answer.errors.contains(expected) {
                        return Ok(());
                    }
                    Err(StepError::failed(format!(
                        "`{}` did not say {expected:?}; it said {:?} and complained {:?}",
                        answer.command, printed, answer.errors
                    )))
                })
            }),
        Step::then("the {observation} of {message} is {string}")
            .doc("Reads something about a message, as the manifest says, and compares it.")
            .example("Then the last stage of M3 is \"processing\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    compare(scene, observation, &message, arguments.text(2)).await
                })
            }),
        Step::then("the {observation} of {message} is {int}")
            .doc("Reads a number about a message, as the manifest says, and compares it.")
            .example("Then the attempts in quarantine of M3 is 3")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    compare(scene, observation, &message, &arguments.int(2).to_string()).await
                })
            }),
        Step::then("the {observation} of {message} is exactly its content")
            .doc("Reads stored content and compares it, byte for byte, with what the message carries.")
            .example("Then the stored content of M3 is exactly its content")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    scene.snapshot().await?;
                    let carried = scene.running().await?.content_of(&message);
                    exactly(scene, observation, &message, carried.unwrap_or_default()).await
                })
            }),
        Step::then("the {observation} of {message} is exactly what the queue delivered")
            .doc("Reads stored queue content and compares it, byte for byte, with what the queue delivered.")
            .example("Then the stored body of M3 is exactly what the queue delivered")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    scene.snapshot().await?;
                    let delivered = scene.running().await?.delivered_body(&message);
                    let Some(delivered) = delivered else {
                        return Err(StepError::failed(format!("no queue ever delivered {message}")));
                    };
                    exactly(scene, observation, &message, delivered.into_bytes()).await
                })
            }),
    ]
}

async fn exactly(
    scene: &mut Scene,
    observation: &str,
    message: &MessageName,
    expected: Vec<u8>,
) -> Result<(), StepError> {
    let seen = observe(scene, observation, message).await?;
    if seen.as_ref() == Some(&expected) {
        return Ok(());
    }
    let described =
        |bytes: &[u8]| format!("{} bytes, SHA-256 {}", bytes.len(), Blob::of(bytes).sha256);
    let shown = seen.map_or_else(|| "nothing".to_owned(), |seen| described(&seen));
    let text = format!("the {observation} of {message} differs");
    Err(StepError::differs(
        text,
        vec![Row::new(observation, described(&expected), shown)],
    ))
}

async fn operate(
    scene: &mut Scene,
    command: &str,
    message: Option<&MessageName>,
    argument: Option<&str>,
) -> Result<(), StepError> {
    if let Some(message) = message {
        scene.check_declared(std::slice::from_ref(message))?;
    }
    let rehearsal = scene.running().await?;
    let answer = rehearsal
        .operate(command, message, argument)
        .await
        .map_err(StepError::broken)?;
    if !answer.outcome.is_success() {
        return Err(StepError::failed(format!(
            "`{}` {}: {}",
            answer.command,
            answer.outcome,
            answer.errors.trim_end()
        )));
    }
    scene.keep_answer(answer);
    Ok(())
}

async fn observe(
    scene: &mut Scene,
    observation: &str,
    message: &MessageName,
) -> Result<Option<Vec<u8>>, StepError> {
    scene.check_declared(std::slice::from_ref(message))?;
    let rehearsal = scene.running().await?;
    let seen = rehearsal
        .observe(observation, message)
        .await
        .map_err(StepError::broken)?;
    seen.map_err(|error| StepError::failed(error.to_string()))
}

async fn compare(
    scene: &mut Scene,
    observation: &str,
    message: &MessageName,
    expected: &str,
) -> Result<(), StepError> {
    scene.snapshot().await?;
    let seen = observe(scene, observation, message).await?;
    let seen = seen.map_or_else(
        || "nothing".to_owned(),
        |seen| String::from_utf8_lossy(&seen).into_owned(),
    );
    if seen == expected {
        return Ok(());
    }
    let name = format!("{observation} of {message}");
    let text = format!("the {name}: expected {expected:?}, seen {seen:?}");
    Err(StepError::differs(
        text,
        vec![Row::new(name, expected, seen)],
    ))
}
