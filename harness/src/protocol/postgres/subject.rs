//! What statements say: which stage they pass, with which ids, and what they wrote.

use std::collections::BTreeMap;

use super::spelled::{self, Row};
use crate::ids::DependencyName;
use crate::manifest::{CapturePlace, Manifest, Pattern, Recognise, Stage};
use crate::protocol::concern::{Concerns, Wire};
use crate::sql::{Found, Sql};
use crate::stage::{Effect, Subject};
use crate::tap::{PgRequest, Reply, Statement};

impl PgRequest {
    /// All that its transaction executed so far, with what it executes itself.
    fn of_transaction(&self) -> impl Iterator<Item = &Statement> {
        self.transaction.iter().chain(&self.statements)
    }
}

impl Concerns for PgRequest {
    fn ids(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<String> {
        ids(manifest, dependency, self.statements.iter())
    }

    fn together(&self, _manifest: &Manifest, _dependency: &DependencyName) -> Vec<Vec<String>> {
        together(&self.statements)
    }

    fn concerned(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Subject> {
        vec![Subject {
            ids: ids(manifest, dependency, self.statements.iter()),
            inherited: ids(manifest, dependency, self.transaction.iter()),
            ..Subject::default()
        }]
    }

    /// A COMMIT stands for its whole transaction.
    fn durable_ids(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        reply: &Reply,
    ) -> Vec<String> {
        match reply {
            Reply::Postgres(reply) => ids(manifest, dependency, reply.durable.iter()),
            _ => self.ids(manifest, dependency),
        }
    }

    fn matches(&self, _wire: Wire<'_>, pattern: &Pattern) -> bool {
        let has = |statement: &Statement, text| statement.sql.find(text).is_some();
        match pattern {
            Pattern::Statement(text) => self.statements.iter().any(|one| has(one, text)),
            Pattern::Transaction(text) => {
                self.commits && self.of_transaction().any(|one| has(one, text))
            }
            _ => false,
        }
    }

    fn passes_before(
        &self,
        wire: Wire<'_>,
        stage: &Stage,
        pattern: &Pattern,
    ) -> Option<Vec<Subject>> {
        match pattern {
            Pattern::Statement(text) => executed(wire, stage, &self.statements, text),
            Pattern::Transaction(text) if self.commits => {
                let all: Vec<&Statement> = self.of_transaction().collect();
                transaction(wire, stage, &all, text)
            }
            _ => None,
        }
    }

    fn passes_after(
        &self,
        wire: Wire<'_>,
        stage: &Stage,
        pattern: &Pattern,
        reply: &Reply,
    ) -> Option<Vec<Subject>> {
        match (pattern, reply) {
            (Pattern::Statement(text), _) => executed(wire, stage, &self.statements, text),
            (Pattern::Transaction(text), Reply::Postgres(reply)) => {
                let all: Vec<&Statement> = reply.durable.iter().collect();
                transaction(wire, stage, &all, text)
            }
            _ => None,
        }
    }
}

/// The subjects of the statements that contain `text`, if any do.
fn executed(
    wire: Wire<'_>,
    stage: &Stage,
    statements: &[Statement],
    text: &Sql,
) -> Option<Vec<Subject>> {
    let matching: Vec<&Statement> = statements
        .iter()
        .filter(|statement| statement.sql.find(text).is_some())
        .collect();
    (!matching.is_empty()).then(|| subjects(wire, stage, &matching))
}

/// The subjects of the statements of a transaction that contain `text` and wrote something,
/// if any did. A transaction inherits the messages of all its statements where the matching
/// ones name none.
fn transaction(
    wire: Wire<'_>,
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
    let inherited = ids(wire.manifest, wire.dependency, all.iter().copied());
    let mut found = Vec::new();
    for (statement, effect) in matching.iter().zip(effects) {
        let mut subjects = of(wire, stage, statement, &matching);
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
fn ids<'s>(
    manifest: &Manifest,
    dependency: &DependencyName,
    statements: impl Iterator<Item = &'s Statement>,
) -> Vec<String> {
    statements
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

fn subjects(wire: Wire<'_>, stage: &Stage, statements: &[&Statement]) -> Vec<Subject> {
    statements
        .iter()
        .flat_map(|statement| of(wire, stage, statement, statements))
        .collect()
}

/// One subject for a statement, or one for each of its rows where each has values of its
/// own to tell.
fn of(wire: Wire<'_>, stage: &Stage, statement: &Statement, others: &[&Statement]) -> Vec<Subject> {
    let rows = spelled::rows(statement);
    let ids_of = |row: &Row| row_ids(wire.manifest, wire.dependency, statement, row);
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
