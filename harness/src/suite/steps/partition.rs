//! Partitions: a process that is cut off from everything. From one dependency it is cut
//! off by an outage of it.

use crate::gherkin::{Step, StepError};
use crate::rehearsal::{ProcessError, RehearsalError};
use crate::suite::Scene;

const GROUP: &str = "processes";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("the {process} is cut off from everything")
            .doc("What every instance sends is lost without an answer, and so is what is sent to it. It keeps its address. Needs `--driver containers`; tag such a scenario @containers.")
            .example("When the worker is cut off from everything")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    scene.running().await?.cut_off(&role).await.map_err(refused)
                })
            }),
        Step::when("the {process} is reached again")
            .of_a_fault()
            .doc("Ends such a cut. Connections that lived through it go on.")
            .example("When the worker is reached again")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    scene.running().await?.join(&role).await.map_err(refused)
                })
            }),
    ]
}

/// A driver that cannot do it was chosen by the user.
fn refused(error: RehearsalError) -> StepError {
    match error {
        RehearsalError::Process(ProcessError::Seat(seat)) if seat.is_host() => {
            StepError::invalid(seat.to_string())
        }
        other => StepError::broken(other),
    }
}
