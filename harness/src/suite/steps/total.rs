//! Totals and figures of single messages. All are judged from one snapshot, taken once
//! when everything is quiet.

use super::figure::Figure;
use super::process::differ;
use crate::gherkin::{Row, Step, StepError, StepKind, Table};
use crate::history::Event;
use crate::ids::MessageName;
use crate::judge::Ledger;
use crate::suite::Scene;

const GROUP: &str = "totals";

pub(super) fn pack() -> Vec<Step<Scene>> {
    vec![
        Step::when("everything is quiet")
            .also(StepKind::Then)
            .doc("Waits until nothing more will happen by itself. Steps that compare figures do so by themselves.")
            .example("When everything is quiet")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| Box::pin(async move { scene.snapshot().await.map(drop) })),
        Step::then("the totals are")
            .doc("Compares totals; a label stands in parentheses: `quarantined (attempt limit)`. Totals may be added: `completed + quarantined`; a figure may be a range: `10 to 20`, `at most 20`, `at least 10`.")
            .example("Then the totals are")
            .group(GROUP)
            .run(|scene: &mut Scene, _, table, _| {
                Box::pin(async move {
                    let expected = expected_totals(table)?;
                    let known = scene.known_totals();
                    let snapshot = scene.snapshot().await?;
                    let mut rows = Vec::new();
                    for (name, value) in expected {
                        let mut seen = 0;
                        for name in name.split(" + ") {
                            let (total, label) = split_label(name);
                            if !known.iter().any(|known| known == total) {
                                return Err(StepError::invalid(format!("there is no total `{total}`"))
                                    .with_help(format!("the totals are {}", known.join(", "))));
                            }
                            seen += snapshot.total(total, label);
                        }
                        rows.push(value.row(&name, seen));
                    }
                    if rows.iter().all(Row::agrees) {
                        return Ok(());
                    }
                    Err(StepError::differs("the totals differ", rows))
                })
            }),
        Step::then("{messages} has/have {int} {total}")
            .doc("Compares a total of each of these messages.")
            .example("Then M3 has 3 attempts started")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (messages, expected, total) =
                        (arguments.messages(0), arguments.int(1), arguments.text(2));
                    scene.check_declared(messages)?;
                    scene.snapshot().await?;
                    for message in messages {
                        let seen = scene.running().await?.total_of(total, message);
                        let Some(seen) = seen else {
                            return Err(StepError::invalid(format!(
                                "`{total}` cannot be counted for one message: it has no witness"
                            )));
                        };
                        differ(format!("{total} of {message}"), expected, seen)?;
                    }
                    Ok(())
                })
            }),
        Step::then("{messages} was/were received {int} time(s)")
            .doc("Counts deliveries of each of these messages, as witnessed at the queue.")
            .example("Then M3 was received 4 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (messages, expected) = (arguments.messages(0), arguments.int(1));
                    scene.check_declared(messages)?;
                    scene.snapshot().await?;
                    for message in messages {
                        let seen = received(scene, message).await?;
                        differ(format!("receives of {message}"), expected, seen)?;
                    }
                    Ok(())
                })
            }),
        Step::then("{messages} ended as {end}")
            .doc("Each of these messages has this end, and no other in its series.")
            .example("Then M4 and M5 ended as completed")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (messages, end) = (arguments.messages(0), arguments.text(1));
                    scene.check_declared(messages)?;
                    scene.snapshot().await?;
                    let ended: Vec<MessageName> = scene
                        .running()
                        .await?
                        .ledger(|ledger: &Ledger| ledger.ended(end).into_iter().cloned().collect());
                    for message in messages {
                        if !ended.contains(message) {
                            return Err(StepError::failed(format!(
                                "{message} did not end as {end}"
                            )));
                        }
                    }
                    Ok(())
                })
            }),
    ]
}

impl Scene {
    fn known_totals(&self) -> Vec<String> {
        let built_in = super::BUILT_IN_TOTALS.iter().map(ToString::to_string);
        self.manifest()
            .totals
            .keys()
            .cloned()
            .chain(built_in)
            .collect()
    }
}

fn expected_totals(table: Option<Table>) -> Result<Vec<(String, Figure)>, StepError> {
    let missing = || {
        StepError::invalid("this step needs a table of totals and figures")
            .with_help("write below it: | completed | 4 |")
    };
    let table = table.ok_or_else(missing)?;
    let pairs = table.pairs().ok_or_else(missing)?;
    pairs
        .into_iter()
        .map(|(name, value)| {
            let value = value.parse().map_err(|_| {
                StepError::invalid(format!(
                    "`{value}` is neither a whole number nor a range (total `{name}`)"
                ))
            })?;
            Ok((name.to_owned(), value))
        })
        .collect()
}

/// `quarantined (attempt limit)` is a total and a label.
fn split_label(name: &str) -> (&str, Option<&str>) {
    match name
        .strip_suffix(')')
        .and_then(|rest| rest.split_once(" ("))
    {
        Some((total, label)) => (total, Some(label)),
        None => (name, None),
    }
}

async fn received(scene: &mut Scene, message: &MessageName) -> Result<i64, StepError> {
    let count = scene.running().await?.history().read(|entries| {
        entries
            .iter()
            .filter(|entry| {
                matches!(&entry.event, Event::Delivered { message: Some(of), .. } if of == message)
            })
            .count()
    });
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_in_parentheses() {
        assert_eq!(split_label("completed"), ("completed", None));
        assert_eq!(
            split_label("quarantined (attempt limit)"),
            ("quarantined", Some("attempt limit"))
        );
    }
}
