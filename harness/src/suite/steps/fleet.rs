//! Who is in hand together, what consumers may do over time, and what no longer happens.

use super::figure::Figure;
use super::process::differ;
use crate::fault::{Effect, Fault, Point, Times, Until, Whose};
use crate::gherkin::{Step, StepError, StepKind};
use crate::history::Event;
use crate::ids::{MessageName, RoleName, StageName};
use crate::judge::{Evidence, Hands};
use crate::suite::Scene;

const GROUP: &str = "consumption";

pub(super) fn pack() -> Vec<Step<Scene>> {
    let mut pack = vec![
        Step::given("consumption is expected to stop")
            .doc("Without this a stop of consumption ends the rehearsal at once as failed.")
            .example("Given consumption is expected to stop")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| {
                Box::pin(async move {
                    scene.plan("what is expected of consumption")?.expect_stop();
                    Ok(())
                })
            }),
        Step::given("{message} waits at {stage} until {messages} have/has passed {stage}")
            .a_fault()
            .also(StepKind::When)
            .doc("A barrier for several: the process that passes the stage with the message waits there until each of the others got that far.")
            .example("Given M3 waits at processing until M1 and M2 have passed processing")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (message, stage) = (arguments.message(0), arguments.stage(1));
                    for other in arguments.messages(2) {
                        wait(scene, &message, &stage, other, arguments.stage(3))?;
                    }
                    Ok(())
                })
            }),
        Step::given("{messages} wait for each other at {stage}")
            .a_fault()
            .also(StepKind::When)
            .doc("A barrier: each waits at the stage until all of them got there, and so they are in hand together.")
            .example("Given M1 to M5 wait for each other at processing")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (messages, stage) = (arguments.messages(0), arguments.stage(1));
                    for message in messages {
                        for other in messages.iter().filter(|other| *other != message) {
                            wait(scene, message, &stage, other, stage.clone())?;
                        }
                    }
                    Ok(())
                })
            }),
        Step::when("consumption has become {string}")
            .doc("Waits until the system says that consumption is in this mode.")
            .example("When consumption has become \"paused\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let mode = arguments.text(0);
                    scene.say(&format!("waiting until consumption is {mode}"));
                    let rehearsal = scene.running().await?;
                    rehearsal.mode_becomes(mode).await.map_err(StepError::broken)
                })
            }),
        Step::then("consumption is {string}")
            .doc("Once everything is quiet, the system says that consumption is in this mode.")
            .example("Then consumption is \"stopped\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let expected = arguments.text(0);
                    scene.snapshot().await?;
                    let mode = scene.running().await?.mode().await;
                    let seen = mode.map_err(StepError::broken)?;
                    let seen = seen.unwrap_or_else(|| "unknown".to_owned());
                    if seen == expected {
                        return Ok(());
                    }
                    Err(StepError::failed(format!(
                        "consumption is {seen:?}; expected {expected:?}"
                    )))
                })
            }),
        Step::then("{stage} was passed {figure} time(s)")
            .doc("Counts passages of a stage, with whichever message: a figure, or a range like `100 to 110`, `at least 4`, `at most 20`.")
            .example("Then received was passed at least 4 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let stage = arguments.stage(0);
                    let expected = Figure::read_checked(arguments.text(1))?;
                    scene.snapshot().await?;
                    let seen = passages(scene, &stage, None).await?;
                    expected
                        .judge(format!("passages of {stage}"), seen)
                        .map_err(|error| error.shown_by(passed(scene, &stage, None)))
                })
            }),
        Step::then("{stage} was passed with {string}")
            .doc("The stage was passed, and a value captured there is this one.")
            .example("Then quarantined was passed with \"attempt limit\"")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (stage, value) = (arguments.stage(0), arguments.text(1).to_owned());
                    scene.snapshot().await?;
                    if passages(scene, &stage, Some(&value)).await? > 0 {
                        return Ok(());
                    }
                    Err(StepError::failed(format!("{stage} was never passed with {value:?}")))
                })
            }),
        Step::then("nothing more happens over {int} calls of the {process}")
            .doc("Waits until the process has made so many further calls; no stage is passed meanwhile, nothing delivered, deleted or performed.")
            .example("Then nothing more happens over 20 calls of the worker")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let calls = usize::try_from(arguments.count(0)?).unwrap_or(usize::MAX);
                    let role = arguments.process(1).role;
                    scene.snapshot().await?;
                    let rehearsal = scene.running().await?;
                    let happened = rehearsal.over_calls(&role, calls).await;
                    if happened.is_empty() {
                        return Ok(());
                    }
                    Err(StepError::failed(format!("something happened: {}", happened.join(", "))))
                })
            }),
        Step::then("at most {int} % of the last {int} messages that ended are {end}")
            .doc("The share of one end among the latest ends, as witnessed. If no message ended, the scenario is unproven.")
            .example("Then at most 20 % of the last 50 messages that ended are quarantined")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (percent, window, end) =
                        (arguments.int(0), arguments.count(1)?, arguments.text(2));
                    scene.snapshot().await?;
                    let mut ends: Vec<(u64, String)> = scene.running().await?.ledger(|ledger| {
                        let accounts = ledger.accounts.values();
                        accounts.flat_map(|account| account.ends.clone()).collect()
                    });
                    ends.sort();
                    let latest: Vec<_> = ends
                        .iter()
                        .rev()
                        .take(usize::try_from(window).unwrap_or(usize::MAX))
                        .collect();
                    if latest.is_empty() {
                        return Err(StepError::unproven("no message ended, so this is no share of anything"));
                    }
                    let of_it = latest.iter().filter(|(_, ended)| ended == end).count();
                    if of_it as u64 * 100 <= percent.unsigned_abs() * latest.len() as u64 {
                        return Ok(());
                    }
                    Err(StepError::failed(format!(
                        "{of_it} of the last {} messages that ended are {end}",
                        latest.len()
                    )))
                })
            }),
    ];
    for (phrase, example, doc) in [
        ("", "", "in the whole rehearsal"),
        (
            " before {stage}",
            " before on-trial",
            "before the stage was first passed",
        ),
        (
            " between {stage} and {stage}",
            " between on-trial and trial-over",
            "from the first passage of the one stage to the first of the other",
        ),
        (
            " after {stage}",
            " after trial-over",
            "since the stage was last passed",
        ),
    ] {
        pack.push(
            Step::then(format!("the most that the {{process}} had in hand{phrase} was {{int}}"))
                .doc(format!(
                    "The most messages that one instance had in hand at once, {doc}: exactly this figure."
                ))
                .example(format!("Then the most that the worker had in hand{example} was 5"))
                .group(GROUP)
                .run(move |scene: &mut Scene, arguments, _, _| {
                    Box::pin(async move {
                        let role = arguments.process(0).role;
                        scene.snapshot().await?;
                        let ((from, to), figure) = match phrase.split(' ').nth(1) {
                            None => ((0, u64::MAX), 1),
                            Some("before") => ((0, first(scene, &arguments.stage(1)).await?), 2),
                            Some("after") => {
                                ((last(scene, &arguments.stage(1)).await?, u64::MAX), 2)
                            }
                            Some(_) => {
                                let from = first(scene, &arguments.stage(1)).await?;
                                ((from, first(scene, &arguments.stage(2)).await?), 3)
                            }
                        };
                        let expected = arguments.int(figure);
                        let seen = most_in_hand(scene, &role, from, to).await?;
                        differ(format!("most in hand of the {role}{phrase}"), expected, seen)
                    })
                }),
        );
    }
    pack
}

/// The process that passes a stage with a message waits there until another message has
/// passed one, the first time.
fn wait(
    scene: &mut Scene,
    message: &MessageName,
    stage: &StageName,
    other: &MessageName,
    passed: StageName,
) -> Result<(), StepError> {
    scene.check_declared(&[message.clone(), other.clone()])?;
    scene.arm(Fault {
        effect: Effect::Hold(Some(Until {
            message: other.clone(),
            stage: passed,
            ever: true,
        })),
        point: Point::stage(stage.clone()),
        whose: Whose::These(vec![message.clone()]),
        times: Times::First(1),
        may: false,
    })
}

async fn passages(
    scene: &mut Scene,
    wanted: &StageName,
    with: Option<&str>,
) -> Result<i64, StepError> {
    let count = scene.running().await?.history().read(|entries| {
        entries
            .iter()
            .filter(|entry| {
                matches!(&entry.event, Event::Stage { stage, captured, .. }
                    if stage == wanted
                        && with.is_none_or(|value| captured.values().any(|seen| seen == value)))
            })
            .count()
    });
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}

async fn passed_at(scene: &mut Scene, wanted: &StageName) -> Result<Vec<u64>, StepError> {
    let at: Vec<u64> = scene.running().await?.history().read(|entries| {
        entries
            .iter()
            .filter(|entry| matches!(&entry.event, Event::Stage { stage, .. } if stage == wanted))
            .map(|entry| entry.seq)
            .collect()
    });
    if at.is_empty() {
        return Err(StepError::failed(format!("{wanted} was never passed")));
    }
    Ok(at)
}

async fn first(scene: &mut Scene, stage: &StageName) -> Result<u64, StepError> {
    Ok(passed_at(scene, stage).await?[0])
}

/// The entries at which a stage was passed, with this message or with any.
pub(super) fn passed(scene: &Scene, wanted: &StageName, with: Option<&MessageName>) -> Vec<u64> {
    scene.cite(|event| {
        matches!(
            event,
            Event::Stage { stage, message, .. }
                if stage == wanted && (with.is_none() || message.as_ref() == with)
        )
    })
}

async fn last(scene: &mut Scene, stage: &StageName) -> Result<u64, StepError> {
    Ok(passed_at(scene, stage).await?.last().copied().unwrap_or(0))
}

async fn most_in_hand(
    scene: &mut Scene,
    role: &RoleName,
    from: u64,
    to: u64,
) -> Result<i64, StepError> {
    let manifest = std::sync::Arc::clone(scene.manifest());
    let most = scene.running().await?.history().read(|entries| {
        let evidence = Evidence {
            manifest: &manifest,
            entries,
        };
        Hands::of(evidence).most(role, from, to)
    });
    Ok(i64::try_from(most).unwrap_or(i64::MAX))
}
