//! What somebody else put on a queue. Such a message has a name like any other, and is
//! followed by its `MessageId`.

use super::barrier::{TICK, patience};
use crate::gherkin::{Step, StepError, StepKind};
use crate::ids::MessageName;
use crate::suite::Scene;

const GROUP: &str = "foreign messages";

/// How every phrase begins that makes a message known by putting it on a queue.
pub(in crate::suite) const PUTS: &str = "{message} is put on the queue";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when(format!("{PUTS} {{queue}} with this body"))
            .also(StepKind::Given)
            .doc("Puts the text below the step on a queue, past the system, and calls it by this name.")
            .example("When M16 is put on the queue jobs with this body")
            .group(GROUP)
            .text()
            .run(|scene: &mut Scene, arguments, _, text| {
                Box::pin(async move {
                    let text = text.ok_or_else(|| {
                        StepError::invalid("this step needs a text")
                            .with_help("write it below the step, between lines of \"\"\"")
                    })?;
                    put(scene, &arguments.message(0), arguments.text(1), &text.content).await
                })
            }),
        Step::when(format!("{PUTS} {{queue}} with the body {{string}}"))
            .also(StepKind::Given)
            .doc("Puts this text on a queue, past the system.")
            .example("When M16 is put on the queue jobs with the body \"not JSON\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    put(scene, &arguments.message(0), arguments.text(1), arguments.text(2)).await
                })
            }),
        Step::when(format!("{PUTS} {{queue}} with {{int}} nested brackets"))
            .also(StepKind::Given)
            .doc("Puts JSON on a queue that is nested so deep.")
            .example("When M19 is put on the queue jobs with 100000 nested brackets")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let depth = usize::try_from(arguments.count(2)?).unwrap_or(usize::MAX);
                    if depth > 120_000 {
                        return Err(StepError::invalid(
                            "a message of a queue holds no more than 120000 nested brackets",
                        ));
                    }
                    let body = "[".repeat(depth) + &"]".repeat(depth);
                    put(scene, &arguments.message(0), arguments.text(1), &body).await
                })
            }),
        Step::when(format!("{PUTS} {{queue}} with the content of {{string}}"))
            .also(StepKind::Given)
            .doc("Puts the content of a file on a queue; its path is relative to the manifest.")
            .example("When M16 is put on the queue jobs with the content of \"features/content/foreign.txt\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let path = scene.manifest().root.join(arguments.text(2));
                    let body = std::fs::read_to_string(&path).map_err(|error| {
                        StepError::invalid(format!("cannot read {}: {error}", path.display()))
                    })?;
                    put(scene, &arguments.message(0), arguments.text(1), &body).await
                })
            }),
        Step::when("a copy of {message} is put on the queue {queue}")
            .a_fault()
            .also(StepKind::Given)
            .known_as("again twice duplicate second another resend resent same redelivered")
            .doc("Puts what a queue first delivered of the message on this queue once more, past the system: the same body and attributes, as a queue message of its own. Waits until it was delivered.")
            .example("When a copy of M1 is put on the queue jobs")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (message, queue) = (arguments.message(0), arguments.text(1));
                    scene.check_declared(arguments.messages(0))?;
                    let within = patience(scene);
                    let copied = scene.running().await?.put_copy(&message, queue);
                    match tokio::time::timeout(within, copied).await {
                        Ok(copied) => copied.map_err(StepError::broken),
                        Err(_) => Err(StepError::late(format!(
                            "nothing was delivered of {message} within {within:?}"
                        ))),
                    }
                })
            }),
        Step::when("the queue {queue} is redriven to its source")
            .alias("the messages of {queue} are redriven")
            .known_as("redrive dead letter back moved source replayed return dlq")
            .doc("Puts what a dead-letter queue holds back on the queues that it came from, as a person would: each message is sent as a new one, then deleted. Waits until it holds something.")
            .example("When the queue jobs-dead is redriven to its source")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { redrive(scene, arguments.text(0)).await })
            }),
    ]
}

async fn redrive(scene: &mut Scene, queue: &str) -> Result<(), StepError> {
    let within = patience(scene);
    let deadline = tokio::time::Instant::now() + within;
    let rehearsal = scene.running().await?;
    while rehearsal.visible(queue).await.map_err(StepError::broken)? == 0 {
        if tokio::time::Instant::now() > deadline {
            let nothing = format!("{queue} held nothing to redrive within {within:?}");
            return Err(StepError::late(nothing));
        }
        tokio::time::sleep(TICK).await;
    }
    let moved = rehearsal.redrive(queue).await.map_err(StepError::broken)?;
    scene.say(&format!("{moved} redriven"));
    Ok(())
}

async fn put(
    scene: &mut Scene,
    message: &MessageName,
    queue: &str,
    body: &str,
) -> Result<(), StepError> {
    scene.introduce(message)?;
    let rehearsal = scene.running().await?;
    rehearsal
        .put(message, queue, body)
        .await
        .map_err(StepError::broken)
}
