//! What an operator does and sees.

use crate::gherkin::{Row, Step, StepError, StepKind};
use crate::ids::MessageName;
use crate::suite::Scene;

const GROUP: &str = "operator";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("the operator runs {command} for {message}")
            .doc("Runs an operator's command of the manifest; it must succeed.")
            .example("When the operator runs replay for M3")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    operate(scene, arguments.text(0), &arguments.message(1), None).await
                })
            }),
        Step::when("the operator runs {command} {string} for {message}")
            .doc("Runs an operator's command with an argument; it must succeed.")
            .example("When the operator runs resolve \"not done\" for M3")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let argument = Some(arguments.text(1));
                    operate(scene, arguments.text(0), &arguments.message(2), argument).await
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
        Step::then("the {observation} of {message} is exactly what was sent")
            .doc("Reads stored queue content and compares it, byte for byte, with what the queue delivered.")
            .example("Then the stored content of M3 is exactly what was sent")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (observation, message) = (arguments.text(0), arguments.message(1));
                    scene.snapshot().await?;
                    let seen = observe(scene, observation, &message).await?;
                    let sent = scene.running().await?.delivered_body(&message);
                    let Some(sent) = sent else {
                        return Err(StepError::failed(format!("no queue ever delivered {message}")));
                    };
                    if seen.as_deref() == Some(sent.as_bytes()) {
                        return Ok(());
                    }
                    let shown = seen
                        .map_or_else(|| "nothing".to_owned(), |seen| String::from_utf8_lossy(&seen).into_owned());
                    let message = format!("the {observation} of {message} is not what was sent");
                    Err(StepError::differs(message, vec![Row::new(observation, sent, shown)]))
                })
            }),
    ]
}

async fn operate(
    scene: &mut Scene,
    command: &str,
    message: &MessageName,
    argument: Option<&str>,
) -> Result<(), StepError> {
    scene.check_declared(std::slice::from_ref(message))?;
    let rehearsal = scene.running().await?;
    let answer = rehearsal
        .operate(command, Some(message), argument)
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
