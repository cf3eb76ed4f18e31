//! Signals to single processes: by name, by what they have in hand, or all of a role.

use nix::sys::signal::Signal;

use crate::gherkin::{ProcessRef, Step, StepError};
use crate::ids::{Incarnation, MessageName};
use crate::suite::Scene;

const GROUP: &str = "processes";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("the {process} gets {signal}")
            .known_as("receives sent kill signal")
            .doc("Sends a signal now: to one instance (`worker-2`), or to every instance of the role.")
            .example("When the worker-2 gets SIGSTOP")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    send(scene, arguments.process(0), arguments.signal(1)).await
                })
            }),
        Step::when("the {process} stands still for good")
            .known_as("stopped forever hangs freezes frozen paused never continues sigstop stuck ever")
            .doc("Stops every instance, or the one that is named (SIGSTOP), and never lets it go on: what it has in hand becomes visible at once, as at the end of its visibility, and nothing waits for it. Totals are counted while it stands.")
            .example("When the worker-1 stands still for good")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let ProcessRef { role, instance } = arguments.process(0);
                    let standing = scene.running().await?.leave_standing(&role, instance).await;
                    standing.map_err(StepError::broken)
                })
            }),
        Step::when("the {process} goes on")
            .of_a_fault()
            .doc("A stopped process continues (SIGCONT).")
            .example("When the worker-1 goes on")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move { send(scene, arguments.process(0), Signal::SIGCONT).await })
            }),
        Step::when("the {process} holding {message} gets {signal}")
            .doc("Sends a signal to the one instance that has the message in hand.")
            .example("When the worker holding M3 gets SIGTERM")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let holder = holder(scene, &arguments.process(0), &arguments.message(1)).await?;
                    let rehearsal = scene.running().await?;
                    rehearsal.signal_one(holder, arguments.signal(2)).await.map_err(StepError::broken)
                })
            }),
        Step::when("the {process} holding {message} stands still for good")
            .known_as("stopped forever hangs freezes frozen paused never continues sigstop stuck")
            .doc("The one instance that has the message in hand is stopped (SIGSTOP) and never goes on, as in `the worker-1 stands still for good`.")
            .example("When the worker holding M1 stands still for good")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let holder = holder(scene, &arguments.process(0), &arguments.message(1)).await?;
                    let rehearsal = scene.running().await?;
                    let standing = rehearsal.leave_standing(&holder.role, Some(holder.instance)).await;
                    standing.map_err(StepError::broken)
                })
            }),
        Step::when("the {process} holding {message} is killed")
            .doc("SIGKILL hits the one instance that has the message in hand; it is started again.")
            .example("When the worker holding M3 is killed")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let holder = holder(scene, &arguments.process(0), &arguments.message(1)).await?;
                    let rehearsal = scene.running().await?;
                    rehearsal.signal_one(holder, Signal::SIGKILL).await.map_err(StepError::broken)
                })
            }),
    ]
}

async fn send(scene: &mut Scene, process: ProcessRef, signal: Signal) -> Result<(), StepError> {
    let rehearsal = scene.running().await?;
    rehearsal
        .signal(&process.role, process.instance, signal)
        .await
        .map_err(StepError::broken)
}

async fn holder(
    scene: &mut Scene,
    process: &ProcessRef,
    message: &MessageName,
) -> Result<Incarnation, StepError> {
    scene.check_declared(std::slice::from_ref(message))?;
    let holder = scene.running().await?.holder_of(message);
    match holder {
        Some(holder) if holder.role == process.role => Ok(holder),
        Some(holder) => Err(StepError::failed(format!(
            "{message} is in the hand of {holder}, not of a {}",
            process.role
        ))),
        None => Err(StepError::failed(format!("nobody has {message} in hand"))),
    }
}
