//! Every message that a step names was declared before it, or put on a queue. Found before
//! anything is started.

use std::collections::BTreeSet;

use super::steps::{DECLARES, PUTS};
use crate::fault::Whose;
use crate::gherkin::{Arguments, Complaint, Scenario, Table, Value};
use crate::ids::MessageName;

pub(super) fn check(scenario: &Scenario, steps: &[(&str, &Arguments)]) -> Vec<Complaint> {
    let mut known: BTreeSet<&MessageName> = BTreeSet::new();
    let mut complaints = Vec::new();
    for (step, (phrase, arguments)) in steps.iter().enumerate() {
        if *phrase == DECLARES {
            known.extend(arguments.messages(0));
            continue;
        }
        if phrase.starts_with(PUTS) {
            known.extend(arguments.messages(0));
        }
        let strangers = named(arguments).filter(|message| !known.contains(message));
        complaints.extend(strangers.map(|message| complaint(step, None, message, &known)));
        let Some(table) = scenario
            .steps
            .get(step)
            .and_then(|step| step.table.as_ref())
        else {
            continue;
        };
        for (row, message) in in_rows(table) {
            if !known.contains(&message) {
                complaints.push(complaint(step, Some(row), &message, &known));
            }
        }
    }
    complaints
}

fn named(arguments: &Arguments) -> impl Iterator<Item = &MessageName> {
    arguments.values().iter().flat_map(|value| match value {
        Value::Messages(messages) | Value::Whose(Whose::These(messages)) => messages.as_slice(),
        _ => &[],
    })
}

/// Messages in the rows of a step: `| from | processing of M1 |`. The first cell of a row
/// says what the others mean.
fn in_rows(table: &Table) -> impl Iterator<Item = (usize, MessageName)> {
    table.rows.iter().enumerate().flat_map(|(number, row)| {
        let words = row.iter().skip(1).flat_map(|cell| cell.split([' ', ',']));
        let messages = words.filter(|word| {
            word.strip_prefix('M')
                .is_some_and(|number| number.parse::<u32>().is_ok())
        });
        messages.map(move |word| (number, MessageName::new(word)))
    })
}

fn complaint(
    step: usize,
    row: Option<usize>,
    message: &MessageName,
    known: &BTreeSet<&MessageName>,
) -> Complaint {
    let nearest = number(message).and_then(|wanted| {
        let distance = |known: &&&MessageName| number(known).map(|known| known.abs_diff(wanted));
        known.iter().min_by_key(distance)
    });
    let help = match nearest {
        Some(nearest) => format!(
            "did you mean `{nearest}`? Else declare it in a step before this one: `Given the message {message}`"
        ),
        None => format!("declare it in a step before this one: `Given the message {message}`"),
    };
    Complaint {
        step: Some(step),
        row,
        line: None,
        message: format!("{message} is not declared before this step"),
        help: Some(help),
    }
}

fn number(message: &MessageName) -> Option<u32> {
    message.as_str().strip_prefix('M')?.parse().ok()
}
