//! What stands in the history: who did what after what.

use std::collections::HashMap;
use std::sync::Arc;

use crate::gherkin::{Row, Step, StepError};
use crate::history::{Entry, Event};
use crate::ids::{Incarnation, MessageName, RoleName, StageName};
use crate::judge::Ledger;
use crate::manifest::{Manifest, nearest};
use crate::suite::Scene;

use super::figure::Figure;
use super::objections;
use super::process::differ;

const GROUP: &str = "order of events";

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let for_captures = Arc::clone(manifest);
    vec![
        Step::then("{messages} passed {stage} {figure} time(s)")
            .doc("Counts passages of a stage, for each of these messages: a figure, or a range like `1 to 3`, `at least 2`, `at most 4`.")
            .example("Then M1 passed accepted at least 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let expected = Figure::read_checked(arguments.text(2))?;
                    passages(scene, arguments.messages(0), &arguments.stage(1), expected).await
                })
            }),
        Step::then("{messages} never passed {stage}")
            .doc("None of these messages ever passed the stage. One that was never submitted leaves the scenario unproven.")
            .example("Then M2 never passed outside-sent")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    passages(scene, arguments.messages(0), &arguments.stage(1), Figure::exactly(0)).await
                })
            }),
        Step::then("{messages} did not pass {stage} after {stage}")
            .doc("Once one of these messages had passed the second stage, it did not pass the first any more. One that never passed the second stage leaves the scenario unproven: nothing came after nothing.")
            .example("Then M1 did not pass accepted after marked")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    scene.check_known(arguments.messages(0)).await?;
                    scene.snapshot().await?;
                    let (later, earlier) = (arguments.stage(1), arguments.stage(2));
                    let history = scene.running().await?.history();
                    let after = history.read(|entries| passed_after(entries, &later, &earlier));
                    for message in arguments.messages(0) {
                        match after.get(message).copied().unwrap_or(After::Never) {
                            After::Nothing => {}
                            After::Passed(seq) => {
                                return Err(StepError::failed(format!(
                                    "{message} passed {later} after {earlier} (history: {seq})"
                                )));
                            }
                            After::Never => {
                                return Err(StepError::unproven(format!(
                                    "{message} never passed {earlier}, so that it did not pass {later} after it proves nothing"
                                )));
                            }
                        }
                    }
                    Ok(())
                })
            }),
        Step::then("the {process} received nothing after it got {signal}")
            .doc("No receive of the process began after the signal, in any of its incarnations that got it. If none got it, the scenario is unproven.")
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
                        return Err(StepError::unproven(format!("no {role} got {wanted}, so nothing was received after it")));
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
            .doc("Nobody changed the visibility of a delivery, or deleted it, once it was deleted or given back. If none ever was, the scenario is unproven.")
            .example("Then no receipt was touched after it was deleted or released")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    scene.snapshot().await?;
                    let (ends, touched) = scene.running().await?.history().read(touched_after_end);
                    match touched {
                        None if ends == 0 => Err(StepError::unproven(
                            "no receipt was ever deleted or released, so none was touched after it",
                        )),
                        None => Ok(()),
                        Some((ended, again)) => Err(StepError::failed(format!(
                            "a receipt whose end stands at {ended} was touched again (history: {again})"
                        ))),
                    }
                })
            }),
        Step::then("the visibility of {message} was extended {figure} time(s)")
            .doc("Counts how often receivers of the message asked for more time. Never, of a message that was not submitted, leaves the scenario unproven.")
            .example("Then the visibility of M1 was extended at least 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let wanted = arguments.message(0);
                    let expected = Figure::read_checked(arguments.text(1))?;
                    scene.check_countable(arguments.messages(0), expected).await?;
                    scene.snapshot().await?;
                    let seen = count(scene, |event| matches!(event,
                        Event::VisibilityChanged { message: Some(message), seconds, .. }
                            if *message == wanted && *seconds > 0)).await?;
                    expected.judge(format!("extensions of the visibility of {wanted}"), seen)
                })
            }),
        Step::then("{messages} was/were sent {figure} time(s)")
            .doc("Counts the copies that a queue took of each of these messages: a figure, or a range like `1 to 2`, `at least 2`, `at most 4`.")
            .example("Then M1 was sent 1 to 2 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let expected = Figure::read_checked(arguments.text(1))?;
                    scene.check_countable(arguments.messages(0), expected).await?;
                    scene.snapshot().await?;
                    for wanted in arguments.messages(0) {
                        let sent = scene.running().await?.ledger(|ledger: &Ledger| {
                            let account = ledger.accounts.get(wanted);
                            account.map_or(0, |account| account.sent.len())
                        });
                        let sent = i64::try_from(sent).unwrap_or(i64::MAX);
                        expected.judge(format!("copies of {wanted}"), sent)?;
                    }
                    Ok(())
                })
            }),
        Step::then("{stage} of {message} carried its job id as {word}")
            .doc("A value that the manifest captures at the stage is the message's job id.")
            .example("Then outside-sent of M1 carried its job id as key")
            .group(GROUP)
            .checked(move |arguments, _| {
                objections(check_captured(&for_captures, &arguments.stage(0), arguments.text(2)))
            })
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
        Step::then("the {process} was started {figure} time(s)")
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
                    Figure::read_checked(arguments.text(1))?.judge(format!("starts of the {role}"), seen)
                })
            }),
        Step::then("the {process} logged {string}")
            .doc("Some line that the process printed contains this text.")
            .example("Then the worker logged \"maxReceiveCount\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (role, wanted) = (arguments.process(0).role, arguments.text(1));
                    if wanted.trim().is_empty() {
                        return Err(StepError::invalid("every process has logged nothing: name a text"));
                    }
                    let rehearsal = scene.running().await?;
                    if rehearsal.has_logged(&role, wanted) {
                        return Ok(());
                    }
                    Err(StepError::failed(format!("no {role} logged {wanted:?}")))
                })
            }),
    ]
}

fn check_captured(manifest: &Manifest, stage: &StageName, name: &str) -> Result<(), StepError> {
    let Some(capture) = manifest.stages.get(stage).map(|stage| &stage.capture) else {
        return Ok(());
    };
    if capture.contains_key(name) {
        return Ok(());
    }
    let known: Vec<&str> = capture.keys().map(String::as_str).collect();
    let help = match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => format!("add `capture` to stage `{stage}` in the manifest"),
        None => format!("it captures {}", known.join(", ")),
    };
    Err(StepError::invalid(format!("`{stage}` captures no `{name}`")).with_help(help))
}

/// What a message did once it had passed a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It never passed the stage.
    Never,
    /// It passed the other one no more.
    Nothing,
    /// It passed the other one here.
    Passed(u64),
}

/// What each message that passed the earlier stage did at the later one, in one reading.
fn passed_after(
    entries: &[Entry],
    later: &StageName,
    earlier: &StageName,
) -> HashMap<MessageName, After> {
    let mut after: HashMap<MessageName, After> = HashMap::new();
    for entry in entries {
        let Event::Stage {
            stage,
            message: Some(message),
            ..
        } = &entry.event
        else {
            continue;
        };
        if stage == later
            && let Some(known) = after.get_mut(message)
            && matches!(known, After::Nothing)
        {
            *known = After::Passed(entry.seq);
        } else if stage == earlier && !after.contains_key(message) {
            after.insert(message.clone(), After::Nothing);
        }
    }
    after
}

async fn passages(
    scene: &mut Scene,
    messages: &[MessageName],
    stage: &StageName,
    expected: Figure,
) -> Result<(), StepError> {
    scene.check_countable(messages, expected).await?;
    scene.snapshot().await?;
    for message in messages {
        let seen = scene.running().await?.passages(message, stage);
        let seen = i64::try_from(seen).unwrap_or(i64::MAX);
        expected
            .judge(format!("passages of {stage} by {message}"), seen)
            .map_err(|error| error.shown_by(super::fleet::passed(scene, stage, Some(message))))?;
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
            Event::Receiving { incarnation, .. } if signalled.contains(&incarnation) => {
                return (signalled.len(), Some(entry.seq));
            }
            _ => {}
        }
    }
    (signalled.len(), None)
}

/// How many receipts were deleted or released, and the first that was touched again: where
/// it ended, and where it was touched.
fn touched_after_end(entries: &[Entry]) -> (usize, Option<(u64, u64)>) {
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
            return (ended.len(), Some((*at, entry.seq)));
        }
        if ends {
            ended.insert(receipt, entry.seq);
        }
    }
    (ended.len(), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CallId;
    use crate::judge::story::{Story, packer};

    #[test]
    fn what_comes_after_nothing_is_told_from_nothing_that_comes_after() {
        let after = |story: &Story| {
            let after = passed_after(&story.entries(), &"tried".into(), &"shipped".into());
            let of = after.get(&MessageName::from("M1")).copied();
            of.unwrap_or(After::Never)
        };
        let story = Story::new().passed("tried", "M1").passed("shipped", "M2");
        assert_eq!(after(&story), After::Never);
        let story = story.passed("shipped", "M1").passed("tried", "M2");
        assert_eq!(after(&story), After::Nothing);
        let story = story.passed("tried", "M1");
        assert_eq!(after(&story), After::Passed(story.entries().len() as u64));
    }

    #[test]
    fn receipts_are_counted_before_they_are_found_untouched() {
        let released = |receipt: &str| Event::VisibilityChanged {
            call: CallId(1),
            receipt: receipt.to_owned(),
            message: None,
            seconds: 0,
        };
        assert_eq!(touched_after_end(&Story::new().entries()), (0, None));
        let story = Story::new().then(released("one"));
        assert_eq!(touched_after_end(&story.entries()), (1, None));
        let story = story.then(released("one"));
        assert_eq!(touched_after_end(&story.entries()), (1, Some((2, 3))));
    }

    #[test]
    fn only_who_got_the_signal_may_receive_no_more() {
        let asks = |story: Story, start| {
            story.then(Event::Receiving {
                call: CallId(9),
                incarnation: packer(start),
                at_most: 1,
                hides: None,
            })
        };
        let asked = asks(Story::new(), 1);
        let role = RoleName::from("packer");
        assert_eq!(
            received_after(&asked.entries(), &role, "SIGTERM"),
            (0, None)
        );
        let signalled = asked.then(Event::Signalled {
            incarnation: packer(1),
            signal: "SIGTERM".to_owned(),
            fault: None,
        });
        assert_eq!(
            received_after(&signalled.entries(), &role, "SIGTERM"),
            (1, None)
        );
        let other = asks(signalled.clone(), 2);
        assert_eq!(
            received_after(&other.entries(), &role, "SIGTERM"),
            (1, None)
        );
        let late = asks(signalled, 1);
        assert_eq!(
            received_after(&late.entries(), &role, "SIGTERM"),
            (1, Some(4))
        );
    }
}
