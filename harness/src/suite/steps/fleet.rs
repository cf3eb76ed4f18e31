//! Who is in hand together, what consumers may do over time, and what no longer happens.

use crate::gherkin::{Step, StepError};
use crate::history::Event;
use crate::ids::StageName;
use crate::suite::Scene;

use super::process::differ;

const GROUP: &str = "consumption";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::then("{stage} was passed {int} time(s)")
            .doc("Counts passages of a stage, with whichever message.")
            .example("Then received was passed 4 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (stage, expected) = (arguments.stage(0), arguments.int(1));
                    scene.snapshot().await?;
                    let seen = passages(scene, &stage).await?;
                    differ(format!("passages of {stage}"), expected, seen)
                })
            }),
        Step::then("{stage} was passed at least {int} time(s)")
            .doc("Counts passages of a stage, with whichever message.")
            .example("Then received was passed at least 4 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (stage, least) = (arguments.stage(0), arguments.int(1));
                    scene.snapshot().await?;
                    let seen = passages(scene, &stage).await?;
                    if seen >= least {
                        return Ok(());
                    }
                    differ(format!("passages of {stage}, at least"), least, seen)
                })
            }),
    ]
}

async fn passages(scene: &mut Scene, wanted: &StageName) -> Result<i64, StepError> {
    let count = scene.running().await?.history().read(|entries| {
        entries
            .iter()
            .filter(|entry| matches!(&entry.event, Event::Stage { stage, .. } if stage == wanted))
            .count()
    });
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}
