//! What only time would end, ended at once.

use super::barrier::patience;
use crate::gherkin::{Step, StepError};
use crate::ids::MessageName;
use crate::suite::Scene;

const GROUP: &str = "order of events";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("the delay of {message} is over")
            .doc("A copy of the message that its queue delays can be received at once, as at the end of its delay. Waits until there is one. The queue must be one that the harness serves.")
            .example("When the delay of M2 is over")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { end(scene, &arguments.message(0), What::Delay).await })
            }),
        Step::when("the deduplication of {message} is over")
            .doc("Services that the harness plays forget the idempotency keys of the message's writes; if none has one, a FIFO queue that the harness serves forgets the message's deduplication id. The same is then performed, or taken in, once more.")
            .example("When the deduplication of M2 is over")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { end(scene, &arguments.message(0), What::Deduplication).await })
            }),
    ]
}

#[derive(Clone, Copy)]
enum What {
    Delay,
    Deduplication,
}

async fn end(scene: &mut Scene, message: &MessageName, what: What) -> Result<(), StepError> {
    scene.check_declared(std::slice::from_ref(message))?;
    let within = patience(scene);
    let rehearsal = scene.running().await?;
    let ending = async {
        match what {
            What::Delay => rehearsal.end_delay(message).await,
            What::Deduplication => rehearsal.end_deduplication(message).await,
        }
    };
    if let Ok(ended) = tokio::time::timeout(within, ending).await {
        return ended.map_err(StepError::broken);
    }
    let missing = match what {
        What::Delay => format!("no copy of {message} was delayed"),
        What::Deduplication => format!("nobody deduplicates {message}"),
    };
    Err(StepError::late(format!("{missing} within {within:?}")))
}
