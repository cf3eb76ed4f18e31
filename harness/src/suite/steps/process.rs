//! Processes: stops, starts, deaths.

use nix::sys::signal::Signal;

use super::figure::Figure;
use crate::gherkin::{ProcessRef, Row, Step, StepError, StepKind};
use crate::history::{DeathCause, Event};
use crate::ids::RoleName;
use crate::rehearsal::ExpectedDeath;
use crate::suite::Scene;

const GROUP: &str = "processes";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("the {process} is stopped")
            .a_fault()
            .alias("the {process} stops")
            .known_as("stops shutdown terminated shut sigterm")
            .doc("Every instance gets SIGTERM, SIGKILL after its grace, and stays down.")
            .example("When the worker is stopped")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    scene.running().await?.stop(&role).await.map_err(StepError::broken)
                })
            }),
        Step::when("the {process} is started")
            .of_a_fault()
            .alias("the {process} starts")
            .known_as("starts boots")
            .doc("Starts every instance that is down and waits until it is ready.")
            .example("When the worker is started")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    scene.running().await?.start_role(&role).await.map_err(StepError::broken)
                })
            }),
        Step::when("the {process} is restarted")
            .a_fault()
            .alias("the {process} restarts")
            .known_as("restarts restart redeployed deploy bounced")
            .doc("Stops every instance (SIGTERM), starts it again and waits until it is ready.")
            .example("When the worker is restarted")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    let rehearsal = scene.running().await?;
                    rehearsal.stop(&role).await.map_err(StepError::broken)?;
                    rehearsal.start_role(&role).await.map_err(StepError::broken)
                })
            }),
        Step::when("the {process} is killed")
            .a_fault()
            .alias("the {process} crashes")
            .known_as("crashes crash dies die sigkill oom kill")
            .doc("SIGKILL hits every instance now, or the one that is named (`worker-2`); it is started again.")
            .example("When the publisher is killed")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let process = arguments.process(0);
                    let rehearsal = scene.running().await?;
                    if process.instance.is_none() {
                        return rehearsal.kill(&process.role).await.map_err(StepError::broken);
                    }
                    let killed = rehearsal.signal(&process.role, process.instance, Signal::SIGKILL);
                    killed.await.map_err(StepError::broken)
                })
            }),
        Step::given("the {process} is expected to die")
            .of_a_fault()
            .alias("the {process} is expected to crash")
            .alias("the {process} is expected to exit")
            .known_as("may allowed dies crashes exits exit itself unasked death crash anyway")
            .also(StepKind::When)
            .doc("From here on the process, or the one instance that is named, may die by itself, whatever the cause; it is started again, unless it died five times in a row before it was ready: then it stays down. It need not: `the worker died 1 time by itself` demands it.")
            .example("Given the worker is expected to die")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let ProcessRef { role, instance } = arguments.process(0);
                    scene.expect_death(ExpectedDeath { role, instance });
                    Ok(())
                })
            }),
        Step::then("the {process} died {figure} time(s) by itself")
            .also(StepKind::When)
            .doc("Counts deaths that a message was announced to cause, or that the scenario said to expect. Each was a real death of a process.")
            .example("Then the worker died 3 times by itself")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    let expected = Figure::read_checked(arguments.text(1))?;
                    let seen = deaths(scene, &role, DeathCause::Announced).await?;
                    expected
                        .judge(format!("deaths of the {role} by itself"), seen)
                        .map_err(|error| error.shown_by(all_deaths(scene, &role)))
                })
            }),
        Step::then("the {process} was killed {figure} time(s)")
            .doc("Counts deaths by a signal that the scenario ordered, by a fault or a step. A process that was asked to stop and exits by itself is none of them.")
            .example("Then the worker was killed 3 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    let expected = Figure::read_checked(arguments.text(1))?;
                    let seen = deaths(scene, &role, DeathCause::Ordered).await?;
                    expected
                        .judge(format!("deaths of the {role} by order"), seen)
                        .map_err(|error| error.shown_by(all_deaths(scene, &role)))
                })
            }),
    ]
}

async fn deaths(scene: &mut Scene, role: &RoleName, wanted: DeathCause) -> Result<i64, StepError> {
    scene.snapshot().await?;
    let count = scene.running().await?.history().read(|entries| {
        entries
            .iter()
            .filter(|entry| {
                matches!(
                    &entry.event,
                    Event::Exited { incarnation, cause, signal, .. }
                        if incarnation.role == *role
                            && *cause == wanted
                            && (wanted != DeathCause::Ordered || signal.is_some())
                )
            })
            .count()
    });
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Every death but those at the end.
fn all_deaths(scene: &Scene, role: &RoleName) -> Vec<u64> {
    scene.cite(|event| {
        matches!(
            event,
            Event::Exited { incarnation, cause, .. }
                if incarnation.role == *role && *cause != DeathCause::Shutdown
        )
    })
}

/// Compares one figure.
pub(super) fn differ(name: String, expected: i64, seen: i64) -> Result<(), StepError> {
    if expected == seen {
        return Ok(());
    }
    let message = format!("{name}: expected {expected}, seen {seen}");
    Err(StepError::differs(
        message,
        vec![Row::new(name, expected, seen)],
    ))
}
