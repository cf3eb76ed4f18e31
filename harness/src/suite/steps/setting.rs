//! Settings of the scenario.

use crate::gherkin::{Step, StepError, StepKind};
use crate::manifest::MOST_INSTANCES;
use crate::suite::Scene;

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::given("the {setting} is {word}")
            .doc("Sets a setting of the manifest for this scenario.")
            .example("Given the attempt limit is 5")
            .group("settings")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (setting, value) = (arguments.text(0), arguments.text(1));
                    scene.plan(setting)?.set(setting, value);
                    Ok(())
                })
            }),
        Step::given("{int} instances of the {process} run")
            .doc("Sets how many instances of a process run.")
            .example("Given 2 instances of the worker run")
            .group("settings")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let count = arguments.count(0)?;
                    let count = u32::try_from(count).ok().filter(|count| *count <= MOST_INSTANCES).ok_or_else(
                        || StepError::invalid(format!("{count} instances are too many; at most {MOST_INSTANCES} may run")),
                    )?;
                    let process = arguments.process(1);
                    scene.plan("the number of instances")?.run(process.role, count);
                    Ok(())
                })
            }),
        Step::given("the system is running")
            .also(StepKind::When)
            .doc("Starts every process and waits until all are ready. Other steps do so by themselves.")
            .example("Given the system is running")
            .group("settings")
            .run(|scene: &mut Scene, _, _, _| Box::pin(async move { scene.running().await.map(drop) })),
    ]
}
