//! Totals and figures of single messages. All are judged from one snapshot, taken once
//! when everything is quiet.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::figure::Figure;
use super::objections;
use crate::gherkin::{Objection, Row, Step, StepError, StepKind, Table};
use crate::history::Event;
use crate::ids::MessageName;
use crate::judge::Ledger;
use crate::manifest::built_in_totals;
use crate::manifest::{Manifest, nearest};
use crate::suite::Scene;

const GROUP: &str = "totals";

pub(super) fn pack(manifest: &Arc<Manifest>) -> Vec<Step<Scene>> {
    let (for_table, for_message) = (Arc::clone(manifest), Arc::clone(manifest));
    vec![
        Step::when("everything is quiet")
            .known_as("wait until done idle finished settled settles calm")
            .also(StepKind::Then)
            .doc("Waits until nothing more will happen by itself. Steps that compare figures do so by themselves.")
            .example("When everything is quiet")
            .group(GROUP)
            .run(|scene: &mut Scene, _, _, _| Box::pin(async move { scene.snapshot().await.map(drop) })),
        Step::then("the totals are")
            .known_as("there are empty count counts left none no messages jobs number")
            .doc("Compares totals; a label stands in parentheses: `quarantined (attempt limit)`. Totals may be added: `completed + quarantined`; a figure may be a range: `10 to 20`, `at most 20`, `at least 10`.")
            .example("Then the totals are")
            .group(GROUP)
            .checked(move |_, table| expected_totals(&for_table, table).err().unwrap_or_default())
            .table()
            .run(|scene: &mut Scene, _, table, _| {
                Box::pin(async move {
                    let expected = expected_totals(scene.manifest(), table.as_ref())
                        .map_err(|mut objections| StepError::from(objections.remove(0)))?;
                    let snapshot = scene.snapshot().await?;
                    let (mut rows, mut differing) = (Vec::new(), Vec::new());
                    for Expected { name, terms, figure } in expected {
                        let mut seen = 0;
                        for (total, label) in &terms {
                            seen += snapshot.total(total, label.as_deref());
                        }
                        let row = figure.row(&name, seen);
                        if !row.agrees() {
                            differing.extend(terms.into_iter().map(|(total, _)| total));
                        }
                        rows.push(row);
                    }
                    if rows.iter().all(Row::agrees) {
                        return Ok(());
                    }
                    let cited = counted(scene, &differing);
                    Err(StepError::differs("the totals differ", rows).shown_by(cited))
                })
            }),
        Step::then("{messages} has/have {figure} {total}")
            .doc("Compares a total of each of these messages with a figure or a range.")
            .example("Then M3 has 3 attempts started")
            .group(GROUP)
            .checked(move |arguments, _| objections(check_witnessed(&for_message, arguments.text(2))))
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (messages, total) = (arguments.messages(0), arguments.text(2));
                    let expected = Figure::read_checked(arguments.text(1))?;
                    scene.check_countable(messages, expected).await?;
                    scene.snapshot().await?;
                    let figures = scene.running().await?.total_of_each(total, messages);
                    let Some(figures) = figures else {
                        return check_witnessed(scene.manifest(), total);
                    };
                    for (message, seen) in messages.iter().zip(figures) {
                        let judged = expected.judge(format!("{total} of {message}"), seen);
                        judged.map_err(|error| {
                            error.shown_by(counted_of(scene, total, Some(message)))
                        })?;
                    }
                    Ok(())
                })
            }),
        Step::then("{messages} was/were received {figure} time(s)")
            .known_as("delivered redelivered delivery retried again attempts redelivery")
            .doc("Counts deliveries of each of these messages, as witnessed at the queue: a figure, or a range like `2 to 4`, `at least 2`, `at most 4`.")
            .example("Then M3 was received 2 to 4 times")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let messages = arguments.messages(0);
                    let expected = Figure::read_checked(arguments.text(1))?;
                    scene.check_countable(messages, expected).await?;
                    scene.snapshot().await?;
                    let received = received(scene, messages).await?;
                    for (message, seen) in messages.iter().zip(received) {
                        let judged = expected.judge(format!("receives of {message}"), seen);
                        judged.map_err(|error| {
                            let is_receive = |event: &Event| {
                                matches!(event, Event::Delivered { message: Some(of), .. } if of == message)
                            };
                            error.shown_by(scene.cite(is_receive))
                        })?;
                    }
                    Ok(())
                })
            }),
        Step::then("{messages} ended as {end}")
            .alias("{messages} is/are {end}")
            .alias("{messages} has/have ended as {end}")
            .known_as("finished done finally")
            .doc("Each of these messages has this end, and no other in its series.")
            .example("Then M4 and M5 ended as completed")
            .group(GROUP)
            .run(|scene: &mut Scene, arguments, _, _| {
                Box::pin(async move {
                    let (messages, end) = (arguments.messages(0), arguments.text(1));
                    scene.check_declared(messages)?;
                    scene.snapshot().await?;
                    let other = scene.running().await?.ledger(|ledger: &Ledger| {
                        let ended = ledger.ended(end);
                        let mut messages = messages.iter();
                        messages.find(|message| !ended.contains(message)).cloned()
                    });
                    match other {
                        Some(message) => {
                            let error = StepError::failed(format!("{message} did not end as {end}"));
                            Err(error.shown_by(last_of(scene, &message)))
                        }
                        None => Ok(()),
                    }
                })
            }),
    ]
}

/// A figure of single messages is counted by the harness.
fn check_witnessed(manifest: &Manifest, total: &str) -> Result<(), StepError> {
    let witnessed = [
        built_in_totals::OUTSIDE_REQUESTS,
        built_in_totals::OUTSIDE_REPETITIONS,
    ]
    .contains(&total)
        || manifest
            .totals
            .get(total)
            .is_some_and(|total| total.witness.is_some());
    if witnessed {
        return Ok(());
    }
    Err(StepError::invalid(format!(
        "`{total}` cannot be counted for one message: it has no witness"
    )))
}

fn not_split(total: &str, label: &str) -> StepError {
    StepError::invalid(format!(
        "`{total}` is not split, so nothing of it is `{label}`"
    ))
    .with_help(format!(
        "write `{total}` alone, or split it in the manifest: `labels`, and `by` in its witness"
    ))
}

/// One row of the table.
#[derive(Debug)]
struct Expected {
    /// As written.
    name: String,
    /// What is added: totals, each with a label of it.
    terms: Vec<(String, Option<String>)>,
    figure: Figure,
}

/// The rows of the table, or what is wrong with them: one thing at least.
fn expected_totals(
    manifest: &Manifest,
    table: Option<&Table>,
) -> Result<Vec<Expected>, Vec<Objection>> {
    let Some(pairs) = table.and_then(Table::pairs) else {
        let missing = StepError::invalid("this step needs a table of totals and figures")
            .with_help("write below it: | completed | 4 |");
        return Err(vec![missing.into()]);
    };
    let (mut expected, mut objections) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for (row, (name, value)) in pairs.into_iter().enumerate() {
        if !names.insert(name) {
            let twice = StepError::invalid(format!("`{name}` stands twice in this table"));
            objections.push(Objection::from(twice).at(row));
        }
        match expected_total(manifest, name, value) {
            Ok(total) => expected.push(total),
            Err(error) => objections.push(Objection::from(error).at(row)),
        }
    }
    if objections.is_empty() {
        Ok(expected)
    } else {
        Err(objections)
    }
}

fn expected_total(manifest: &Manifest, name: &str, value: &str) -> Result<Expected, StepError> {
    let figure = value.parse().map_err(|_| {
        StepError::invalid(format!(
            "`{value}` is neither a whole number nor a range (total `{name}`)"
        ))
        .with_help("write `4`, `10 to 20`, `at most 20` or `at least 10`")
    })?;
    let mut terms = Vec::new();
    for term in name.split(" + ") {
        let (total, label) = split_label(term);
        check_total(manifest, total, label)?;
        terms.push((total.to_owned(), label.map(str::to_owned)));
    }
    Ok(Expected {
        name: name.to_owned(),
        terms,
        figure,
    })
}

/// Whether there is such a total, and it may have a label.
pub(super) fn check_total(
    manifest: &Manifest,
    total: &str,
    label: Option<&str>,
) -> Result<(), StepError> {
    let built_in = built_in_totals::ALL.contains(&total);
    let of_manifest = manifest.totals.get(total);
    if !built_in && of_manifest.is_none() {
        let names = manifest.totals.keys().map(String::as_str);
        let known: Vec<&str> = names.chain(built_in_totals::ALL.iter().copied()).collect();
        let known_are = format!("the totals are {}", known.join(", "));
        let help = match nearest(total, known) {
            Some(nearest) => format!("did you mean `{nearest}`? ({known_are})"),
            None => known_are,
        };
        return Err(StepError::invalid(format!("there is no total `{total}`")).with_help(help));
    }
    let Some(label) = label else {
        return Ok(());
    };
    let labels = of_manifest.map_or(&[][..], |total| &total.labels);
    if labels.is_empty() {
        return Err(not_split(total, label));
    }
    if labels.iter().any(|known| known == label) {
        return Ok(());
    }
    let known: Vec<&str> = labels.iter().map(String::as_str).collect();
    let known_are = format!("its labels are {}", known.join(", "));
    let help = match nearest(label, known) {
        Some(nearest) => format!("did you mean `{total} ({nearest})`? ({known_are})"),
        None => known_are,
    };
    Err(StepError::invalid(format!("`{total}` has no label `{label}`")).with_help(help))
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

/// The entries that these totals were counted from: what the harness counts, and what the
/// system says.
fn counted(scene: &Scene, totals: &[String]) -> Vec<u64> {
    let each = totals.iter().map(|total| counted_of(scene, total, None));
    each.flatten().collect()
}

fn counted_of(scene: &Scene, total: &str, of: Option<&MessageName>) -> Vec<u64> {
    let manifest = Arc::clone(scene.manifest());
    let witness = manifest
        .totals
        .get(total)
        .and_then(|total| total.witness.as_ref());
    let is_of = |message: &Option<MessageName>| of.is_none() || message.as_ref() == of;
    let counts = |event: &Event| match event {
        Event::Stage { stage, message, .. } => {
            is_of(message) && witness.is_some_and(|witness| witness.step(stage) != 0)
        }
        Event::Performed {
            write,
            repeated,
            message,
            ..
        } => {
            is_of(message)
                && (*write && total == built_in_totals::OUTSIDE_REQUESTS
                    || *repeated && total == built_in_totals::OUTSIDE_REPETITIONS)
        }
        _ => false,
    };
    let seen = scene.cite(counts);
    if !seen.is_empty() || of.is_some() {
        return seen;
    }
    let told = scene.cite(|event| matches!(event, Event::Counted { total: of, .. } if of == total));
    told.into_iter().next_back().into_iter().collect()
}

/// What is known last of a message.
fn last_of(scene: &Scene, message: &MessageName) -> Vec<u64> {
    let is_step = |event: &Event| match event {
        Event::Stage {
            message: Some(of), ..
        }
        | Event::Delivered {
            message: Some(of), ..
        }
        | Event::Deleted {
            message: Some(of), ..
        }
        | Event::Accepted { message: of, .. } => of == message,
        _ => false,
    };
    scene
        .cite(is_step)
        .into_iter()
        .next_back()
        .into_iter()
        .collect()
}

/// How often each of these messages was delivered. A copy that was named late counts from
/// its first delivery on.
async fn received(scene: &mut Scene, messages: &[MessageName]) -> Result<Vec<i64>, StepError> {
    let rehearsal = scene.running().await?;
    let counts = rehearsal.ledger(|ledger: &Ledger| {
        let count = |message: &MessageName| {
            let account = ledger.accounts.get(message);
            account.map_or(0, |account| account.delivered.len())
        };
        messages.iter().map(count).collect::<Vec<_>>()
    });
    let counts = counts.into_iter();
    Ok(counts
        .map(|count| i64::try_from(count).unwrap_or(i64::MAX))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::MANIFEST;

    fn table(rows: &[[&str; 2]]) -> Table {
        Table {
            rows: rows
                .iter()
                .map(|row| row.iter().map(ToString::to_string).collect())
                .collect(),
            lines: (1..=rows.len()).collect(),
        }
    }

    fn told(rows: &[[&str; 2]]) -> Vec<(Option<usize>, String, Option<String>)> {
        match expected_totals(&MANIFEST, Some(&table(rows))) {
            Ok(_) => Vec::new(),
            Err(objections) => objections
                .into_iter()
                .map(|objection| (objection.row, objection.message, objection.help))
                .collect(),
        }
    }

    #[test]
    fn totals_and_their_labels_must_be_there() {
        assert!(
            told(&[
                ["tries", "4"],
                ["shipments + put aside (late)", "at most 2"]
            ])
            .is_empty()
        );
        let told = told(&[
            ["tries", "4"],
            ["shipmens", "1"],
            ["shipments (late)", "0"],
            ["left in queue (x)", "0"],
            ["put aside (late)", "none"],
        ]);
        let rows: Vec<Option<usize>> = told.iter().map(|(row, ..)| *row).collect();
        assert_eq!(rows, [Some(1), Some(2), Some(3), Some(4)]);
        assert_eq!(told[0].1, "there is no total `shipmens`");
        assert!(
            told[0]
                .2
                .as_ref()
                .unwrap()
                .starts_with("did you mean `shipments`?")
        );
        assert_eq!(
            told[1].1,
            "`shipments` is not split, so nothing of it is `late`"
        );
        assert!(told[3].1.contains("neither a whole number nor a range"));
        assert!(expected_totals(&MANIFEST, None).is_err());
    }

    #[test]
    fn a_label_stands_in_parentheses() {
        assert_eq!(split_label("completed"), ("completed", None));
        assert_eq!(
            split_label("quarantined (attempt limit)"),
            ("quarantined", Some("attempt limit"))
        );
    }
}
