//! What stands in the history: who did what after what.

use crate::gherkin::{Row, Step, StepError};
use crate::history::{Entry, Event};
use crate::ids::{Incarnation, MessageName, RoleName, StageName};
use crate::suite::Scene;

use super::process::differ;

const GROUP: &str = "order of events";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::then("{messages} passed {stage} {int} time(s)")
            .doc("Counts passages of a stage, for each of these messages.")
            .example("Then M1 passed accepted 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    passages(scene, arguments.messages(0), &arguments.stage(1), arguments.int(2)).await
                })
            }),
        Step::then("{messages} never passed {stage}")
            .doc("None of these messages ever passed the stage.")
            .example("Then M2 never passed outside-sent")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    passages(scene, arguments.messages(0), &arguments.stage(1), 0).await
                })
            }),
        Step::then("{stage} was passed {int} to {int} times")
            .doc("Counts passages of a stage by all messages together, in a range.")
            .example("Then accepted was passed 100 to 110 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (wanted, least, most) =
                        (arguments.stage(0), arguments.int(1), arguments.int(2));
                    scene.snapshot().await?;
                    let seen = count(scene, |event| {
                        matches!(event, Event::Stage { stage, .. } if *stage == wanted)
                    }).await?;
                    if (least..=most).contains(&seen) {
                        return Ok(());
                    }
                    differ(format!("passages of {wanted} (from {least})"), most, seen)
                })
            }),
        Step::then("{messages} did not pass {stage} after {stage}")
            .doc("Once one of these messages had passed the second stage, it did not pass the first any more.")
            .example("Then M1 did not pass accepted after marked")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    scene.check_declared(arguments.messages(0))?;
                    scene.snapshot().await?;
                    let (later, earlier) = (arguments.stage(1), arguments.stage(2));
                    for message in arguments.messages(0) {
                        let found = scene.running().await?.history().read(|entries| {
                            let mut passed = entries
                                .iter()
                                .skip_while(|entry| !passes(entry, message, &earlier))
                                .skip(1);
                            passed.find(|entry| passes(entry, message, &later)).map(|entry| entry.seq)
                        });
                        if let Some(seq) = found {
                            return Err(StepError::failed(format!(
                                "{message} passed {later} after {earlier} (history: {seq})"
                            )));
                        }
                    }
                    Ok(())
                })
            }),
        Step::then("the {process} received nothing after it got {signal}")
            .doc("No receive of the process began after the signal, in any of its incarnations that got it.")
            .example("Then the worker received nothing after it got SIGTERM")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (role, wanted) = (arguments.process(0).role, arguments.signal(1));
                    scene.snapshot().await?;
                    let (signalled, late) = scene
                        .running()
                        .await?
                        .history()
                        .read(|entries| received_after(entries, &role, wanted.as_str()));
                    if signalled == 0 {
                        return Err(StepError::failed(format!("no {role} got {wanted}")));
                    }
                    match late {
                        None => Ok(()),
                        Some(seq) => Err(StepError::failed(format!(
                            "the {role} began a receive after {wanted} (history: {seq})"
                        ))),
                    }
                })
            }),
        Step::then("no receipt was touched after it was deleted or released")
            .doc("Nobody changed the visibility of a delivery, or deleted it, once it was deleted or given back.")
            .example("Then no receipt was touched after it was deleted or released")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    scene.snapshot().await?;
                    let touched = scene.running().await?.history().read(touched_after_end);
                    match touched {
                        None => Ok(()),
                        Some((ended, again)) => Err(StepError::failed(format!(
                            "a receipt whose end stands at {ended} was touched again (history: {again})"
                        ))),
                    }
                })
            }),
        Step::then("the visibility of {message} was extended at least {int} time(s)")
            .doc("Counts how often receivers of the message asked for more time.")
            .example("Then the visibility of M1 was extended at least 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (wanted, least) = (arguments.message(0), arguments.int(1));
                    scene.snapshot().await?;
                    let seen = count(scene, |event| matches!(event,
                        Event::VisibilityChanged { message: Some(message), seconds, .. }
                            if *message == wanted && *seconds > 0)).await?;
                    if seen >= least {
                        return Ok(());
                    }
                    Err(StepError::failed(format!(
                        "the visibility of {wanted} was extended {seen} times; at least {least} were expected"
                    )))
                })
            }),
        Step::then("{messages} was/were sent {int} time(s)")
            .doc("Counts the copies that a queue took of each of these messages.")
            .example("Then M1 was sent 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    scene.check_declared(arguments.messages(0))?;
                    scene.snapshot().await?;
                    for wanted in arguments.messages(0) {
                        let seen = count(scene, |event| {
                            matches!(event, Event::Sent { message: Some(message), .. } if message == wanted)
                        }).await?;
                        differ(format!("copies of {wanted}"), arguments.int(1), seen)?;
                    }
                    Ok(())
                })
            }),
        Step::then("{stage} of {message} carried its job id as {word}")
            .doc("A value that the manifest captures at the stage is the message's job id.")
            .example("Then outside-sent of M1 carried its job id as key")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (stage, message, name) =
                        (arguments.stage(0), arguments.message(1), arguments.text(2));
                    scene.snapshot().await?;
                    let rehearsal = scene.running().await?;
                    let (job, seen) = (rehearsal.job_of(&message), rehearsal.captured(&message, &stage, name));
                    if job.is_some() && job == seen {
                        return Ok(());
                    }
                    let shown = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
                    let (job, seen) = (shown(job), shown(seen));
                    let text = format!("{stage} of {message} carried {seen} as {name}");
                    Err(StepError::differs(text, vec![Row::new(name, job, seen)]))
                })
            }),
        Step::then("the preflight warned {string}")
            .doc("Before anything ran, the harness found that the scenario's settings leave no room for what it does.")
            .example("Then the preflight warned \"maxReceiveCount is 3\"")
            .group("settings")
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let warnings = scene.running().await?.warnings();
                    if warnings.iter().any(|warning| warning.contains(arguments.text(0))) {
                        return Ok(());
                    }
                    Err(StepError::failed(format!("the preflight's warnings were {warnings:?}")))
                })
            }),
        Step::then("the preflight had nothing to warn of")
            .doc("The scenario's settings leave room for all that it does.")
            .example("Then the preflight had nothing to warn of")
            .group("settings")
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    let warnings = scene.running().await?.warnings();
                    if warnings.is_empty() {
                        return Ok(());
                    }
                    Err(StepError::failed(format!("the preflight warned: {warnings:?}")))
                })
            }),
        Step::then("the {process} exited with code {int}")
            .doc("The last incarnation of the process that ended, ended with this exit code.")
            .example("Then the worker exited with code 0")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (process, expected) = (arguments.process(0), arguments.int(1));
                    let last = scene.running().await?.history().read(|entries| {
                        entries.iter().rev().find_map(|entry| match &entry.event {
                            Event::Exited { incarnation, code, signal, .. }
                                if incarnation.role == process.role
                                    && process.instance.is_none_or(|one| one == incarnation.instance) =>
                            {
                                Some((*code, signal.clone()))
                            }
                            _ => None,
                        })
                    });
                    match last {
                        Some((Some(code), _)) if i64::from(code) == expected => Ok(()),
                        Some((Some(code), _)) => differ("exit code".to_owned(), expected, code.into()),
                        Some((None, signal)) => Err(StepError::failed(format!(
                            "the {} ended by {}",
                            process.role,
                            signal.unwrap_or_else(|| "nobody knows what".to_owned())
                        ))),
                        None => Err(StepError::failed(format!("no {} ended", process.role))),
                    }
                })
            }),
        Step::then("the {process} was started {int} time(s)")
            .doc("Counts incarnations of the process, the first included.")
            .example("Then the worker was started 1 time")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let role = arguments.process(0).role;
                    scene.snapshot().await?;
                    let seen = count(scene, |event| {
                        matches!(event, Event::Started { incarnation, .. } if incarnation.role == role)
                    }).await?;
                    differ(format!("starts of the {role}"), arguments.int(1), seen)
                })
            }),
        Step::then("the {process} logged {string}")
            .doc("Some line that the process printed contains this text.")
            .example("Then the worker logged \"maxReceiveCount\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (role, wanted) = (arguments.process(0).role, arguments.text(1));
                    let rehearsal = scene.running().await?;
                    if rehearsal.has_logged(&role, wanted) {
                        return Ok(());
                    }
                    Err(StepError::failed(format!("no {role} logged {wanted:?}")))
                })
            }),
    ]
}

fn passes(entry: &Entry, wanted: &MessageName, of: &StageName) -> bool {
    matches!(&entry.event, Event::Stage { stage, message: Some(message), .. }
        if stage == of && message == wanted)
}

async fn passages(
    scene: &mut Scene,
    messages: &[MessageName],
    stage: &StageName,
    expected: i64,
) -> Result<(), StepError> {
    scene.check_declared(messages)?;
    scene.snapshot().await?;
    for message in messages {
        let seen = scene.running().await?.passages(message, stage);
        let seen = i64::try_from(seen).unwrap_or(i64::MAX);
        differ(format!("passages of {stage} by {message}"), expected, seen)?;
    }
    Ok(())
}

async fn count(scene: &mut Scene, wanted: impl Fn(&Event) -> bool) -> Result<i64, StepError> {
    let count = scene
        .running()
        .await?
        .history()
        .read(|entries| entries.iter().filter(|entry| wanted(&entry.event)).count());
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}

/// How many incarnations got the signal, and the first receive that began after it.
fn received_after(entries: &[Entry], role: &RoleName, wanted: &str) -> (usize, Option<u64>) {
    let mut signalled: Vec<&Incarnation> = Vec::new();
    for entry in entries {
        match &entry.event {
            Event::Signalled {
                incarnation,
                signal,
                ..
            } if incarnation.role == *role && signal == wanted => signalled.push(incarnation),
            Event::Called {
                author, summary, ..
            } if summary.starts_with("ReceiveMessage")
                && author
                    .incarnation()
                    .is_some_and(|author| signalled.contains(&author)) =>
            {
                return (signalled.len(), Some(entry.seq));
            }
            _ => {}
        }
    }
    (signalled.len(), None)
}

fn touched_after_end(entries: &[Entry]) -> Option<(u64, u64)> {
    let mut ended: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for entry in entries {
        let (receipt, ends) = match &entry.event {
            Event::Deleted { receipt, .. } => (receipt, true),
            Event::VisibilityChanged {
                receipt, seconds, ..
            } => (receipt, *seconds == 0),
            _ => continue,
        };
        if let Some(at) = ended.get(receipt.as_str()) {
            return Some((*at, entry.seq));
        }
        if ends {
            ended.insert(receipt, entry.seq);
        }
    }
    None
}
