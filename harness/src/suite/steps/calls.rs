//! How many calls processes made, and how fast one after the other.

use std::sync::Arc;

use super::call::check_spoken;
use super::figure::Figure;
use super::objections;
use crate::gherkin::{Arguments, Row, Step, StepError};
use crate::manifest::{ACTIONS, Manifest};
use crate::shape::Wanted;
use crate::suite::Scene;

const GROUP: &str = "calls";
const SECOND_US: u64 = 1_000_000;

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let (for_count, for_rate) = (Arc::clone(manifest), Arc::clone(manifest));
    vec![
        Step::then("the {process} made {figure} call(s) of {call}")
            .doc("Counts calls of this shape, whatever became of them: an action of SQS, of any queue or of one (`SendMessage of jobs`), a method with its path, or a piece of a statement. One call of many that were never made leaves the scenario unproven.")
            .example("Then the worker made 2 to 40 calls of ReceiveMessage")
            .group(GROUP)
            .checked(move |arguments, _| {
                let figure = Figure::read_checked(arguments.text(1)).map(drop);
                objections(figure.and_then(|()| wanted(&for_count, arguments.text(2)).map(drop)))
            })
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let figure = Figure::read_checked(arguments.text(1))?;
                    let (shape, at) = made(scene, &arguments, 2).await?;
                    if at.is_empty() && figure.includes(0) && !figure.includes_only(0) {
                        return Err(none(scene, &arguments, &shape).await?);
                    }
                    let seen = i64::try_from(at.len()).unwrap_or(i64::MAX);
                    figure.judge(format!("calls of {shape}"), seen)
                })
            }),
        Step::then("the {process} made at most {int} call(s) of {call} in any second")
            .doc("The most calls of this shape that the process began within one second. If it made none, the scenario is unproven.")
            .example("Then the worker made at most 10 calls of \"POST /charges\" in any second")
            .group(GROUP)
            .checked(move |arguments, _| objections(wanted(&for_rate, arguments.text(2))))
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let most = arguments.int(1);
                    let (shape, at) = made(scene, &arguments, 2).await?;
                    if at.is_empty() {
                        return Err(none(scene, &arguments, &shape).await?);
                    }
                    let seen = i64::try_from(busiest(&at)).unwrap_or(i64::MAX);
                    if seen <= most {
                        return Ok(());
                    }
                    let name = format!("calls of {shape} in one second");
                    let text = format!("{name}: at most {most} expected, seen {seen}");
                    Err(StepError::differs(text, vec![Row::new(name, format!("at most {most}"), seen)]))
                })
            }),
    ]
}

/// The calls that a step means.
fn wanted(manifest: &Manifest, text: &str) -> Result<Wanted, StepError> {
    let text = match text.split_once(" of ") {
        Some((action, queue)) if ACTIONS.contains(&action) => format!("{action} {queue}"),
        _ => text.to_owned(),
    };
    let wanted = Wanted::parse(&text).map_err(|error| StepError::invalid(error.to_string()))?;
    check_spoken(manifest, &wanted)?;
    Ok(wanted)
}

async fn made(
    scene: &mut Scene,
    arguments: &Arguments,
    position: usize,
) -> Result<(Wanted, Vec<u64>), StepError> {
    let wanted = wanted(scene.manifest(), arguments.text(position))?;
    scene.snapshot().await?;
    let process = arguments.process(0);
    let at = scene
        .running()
        .await?
        .calls(&process.role, process.instance, &wanted);
    Ok((wanted, at))
}

/// No call at all proves nothing of how few there were.
async fn none(
    scene: &mut Scene,
    arguments: &Arguments,
    shape: &Wanted,
) -> Result<StepError, StepError> {
    let process = arguments.process(0);
    let rehearsal = scene.running().await?;
    Ok(StepError::unproven(rehearsal.no_call_like(
        &process.role,
        process.instance,
        shape,
    )))
}

/// The most moments, in microseconds and in their order, within one second.
fn busiest(at: &[u64]) -> usize {
    let mut first = 0;
    let windows = at.iter().enumerate().map(|(last, now)| {
        while at[first] + SECOND_US <= *now {
            first += 1;
        }
        last + 1 - first
    });
    windows.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_second_slides() {
        assert_eq!(busiest(&[]), 0);
        assert_eq!(busiest(&[0, 400_000, 900_000, 1_000_000, 1_300_000]), 4);
        assert_eq!(busiest(&[0, 1_000_000, 2_000_000]), 1);
    }
}
