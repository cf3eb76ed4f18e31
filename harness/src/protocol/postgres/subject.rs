//! What statements say: which stage they pass, with which ids, and what they wrote.

use std::collections::BTreeMap;

use super::spelled::{self, Row};
use crate::ids::DependencyName;
use crate::manifest::{CapturePlace, Manifest, Recognise, Stage};
use crate::sql::{Found, Sql};
use crate::stage::{Effect, Subject};
use crate::tap::{Call, Statement};

/// The subjects of the statements that contain `text`, if any do.
pub(crate) fn executed(
    manifest: &Manifest,
    call: &Call,
    stage: &Stage,
    statements: &[Statement],
    text: &Sql,
) -> Option<Vec<Subject>> {
    let matching: Vec<&Statement> = statements
        .iter()
        .filter(|statement| statement.sql.find(text).is_some())
        .collect();
    (!matching.is_empty()).then(|| subjects(manifest, call, stage, &matching))
}

/// The subjects of the statements of a transaction that contain `text` and wrote something,
/// if any did. A transaction inherits the messages of all its statements where the matching
/// ones name none.
pub(crate) fn transaction(
    manifest: &Manifest,
    call: &Call,
    stage: &Stage,
    all: &[&Statement],
    text: &Sql,
) -> Option<Vec<Subject>> {
    let (matching, effects): (Vec<&Statement>, Vec<Effect>) = all
        .iter()
        .filter_map(|statement| Some((*statement, effect(statement, text)?)))
        .unzip();
    if matching.is_empty() {
        return None;
    }
    let inherited = ids(manifest, &call.dependency, all);
    let mut found = Vec::new();
    for (statement, effect) in matching.iter().zip(effects) {
        let mut subjects = of(manifest, call, stage, statement, &matching);
        let rows = subjects.len();
        // Rows that name nobody are nobody's where another one names somebody.
        let named = rows > 1 && subjects.iter().any(|subject| !subject.ids.is_empty());
        // Rows that are told apart were all written, or it is not told which were.
        let effect = match effect {
            Effect::Rows(written) if rows > 1 => {
                if usize::try_from(written).is_ok_and(|written| written < rows) {
                    Effect::Untold(statement.sql.to_string())
                } else {
                    Effect::Whole
                }
            }
            effect => effect,
        };
        for subject in &mut subjects {
            if !named {
                subject.inherited.clone_from(&inherited);
            }
            subject.effect.clone_from(&effect);
        }
        found.extend(subjects);
    }
    Some(found)
}

/// What a durable statement that contains `text` did, unless it does not contain it or
/// wrote nothing: it met a conflict, or found no row.
fn effect(statement: &Statement, text: &Sql) -> Option<Effect> {
    match (statement.sql.find(text)?, statement.wrote) {
        (Found::Main, Some(0)) => None,
        (Found::Main, Some(rows)) => Some(Effect::Rows(rows)),
        (Found::Aside, _) | (Found::Main, None) => Some(Effect::Untold(statement.sql.to_string())),
    }
}

/// The ids in statements.
pub(crate) fn ids(
    manifest: &Manifest,
    dependency: &DependencyName,
    statements: &[&Statement],
) -> Vec<String> {
    statements
        .iter()
        .flat_map(|statement| {
            spelled::rows(statement)
                .iter()
                .flat_map(|row| row_ids(manifest, dependency, statement, row))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The values of each row that statements spell out.
pub(crate) fn together(statements: &[Statement]) -> Vec<Vec<String>> {
    let rows = statements.iter().flat_map(spelled::rows);
    rows.map(|row| row.all().cloned().collect()).collect()
}

fn row_ids(
    manifest: &Manifest,
    dependency: &DependencyName,
    statement: &Statement,
    row: &Row,
) -> Vec<String> {
    match manifest.messages.recognise.get(dependency) {
        Some(Recognise::AnyBind) => row.all().cloned().collect(),
        Some(Recognise::Binds(places)) => places
            .iter()
            .filter(|place| statement.sql.find(&place.statement).is_some())
            .filter_map(|place| row.by_position.get(&place.position))
            .flatten()
            .cloned()
            .collect(),
        Some(Recognise::Places(_) | Recognise::AnyValue) => Vec::new(),
        // Where nobody says it, only what can hardly be anything else.
        None => row
            .all()
            .filter(|value| is_telling(value))
            .cloned()
            .collect(),
    }
}

/// Whether a value that is a known id is so hardly by chance.
fn is_telling(value: &str) -> bool {
    value.len() >= 6 || !value.bytes().all(|byte| byte.is_ascii_digit())
}

fn subjects(
    manifest: &Manifest,
    call: &Call,
    stage: &Stage,
    statements: &[&Statement],
) -> Vec<Subject> {
    statements
        .iter()
        .flat_map(|statement| of(manifest, call, stage, statement, statements))
        .collect()
}

/// One subject for a statement, or one for each of its rows where each has values of its
/// own to tell.
fn of(
    manifest: &Manifest,
    call: &Call,
    stage: &Stage,
    statement: &Statement,
    others: &[&Statement],
) -> Vec<Subject> {
    let rows = spelled::rows(statement);
    let ids_of = |row: &Row| row_ids(manifest, &call.dependency, statement, row);
    // Its own value comes before one of another statement.
    let captured = |own: &[Row]| {
        let mut captured = BTreeMap::new();
        for other in others {
            capture(stage, other, &spelled::rows(other), &mut captured);
        }
        let mut mine = BTreeMap::new();
        capture(stage, statement, own, &mut mine);
        captured.extend(mine);
        captured
    };
    if stage.capture.is_empty() || rows.len() < 2 {
        return vec![Subject {
            ids: rows.iter().flat_map(ids_of).collect(),
            captured: captured(&rows),
            ..Subject::default()
        }];
    }
    rows.iter()
        .map(|row| Subject {
            ids: ids_of(row),
            captured: captured(std::slice::from_ref(row)),
            ..Subject::default()
        })
        .collect()
}

/// Adds what the stage captures from these rows, the first value of each name.
fn capture(
    stage: &Stage,
    statement: &Statement,
    rows: &[Row],
    captured: &mut BTreeMap<String, String>,
) {
    for (name, place) in &stage.capture {
        let CapturePlace::Bind(place) = place else {
            continue;
        };
        if captured.contains_key(name) || statement.sql.find(&place.statement).is_none() {
            continue;
        }
        let value = rows
            .iter()
            .find_map(|row| row.by_position.get(&place.position)?.first());
        captured.extend(value.map(|value| (name.clone(), value.clone())));
    }
}
