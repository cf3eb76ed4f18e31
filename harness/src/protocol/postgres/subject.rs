//! What statements say: which stage they pass, with which ids, and what they wrote.

use std::collections::BTreeMap;

use super::spelled::{self, Row};
use crate::ids::DependencyName;
use crate::manifest::{CapturePlace, Manifest, Pattern, Protocol, Recognise, RowChange, Stage};
use crate::protocol::concern::{Concerns, Wire, subjects_of};
use crate::protocol::queue::{Item, QueueEffect};
use crate::protocol::table;
use crate::sql::{Found, Sql};
use crate::stage::{Effect, Subject};
use crate::tap::{PgRequest, Reply, Statement};

/// What the rows of tables that are queues are called which a statement names.
fn row_copies(
    manifest: &Manifest,
    dependency: &DependencyName,
    statement: &Statement,
    row: &Row,
) -> Vec<String> {
    let known = manifest.dependencies.get(dependency);
    let Some(Protocol::Postgres { queues }) = known.map(|known| &known.protocol) else {
        return Vec::new();
    };
    let named = queues
        .iter()
        .filter(|(_, queue)| queue.is_named_in(statement));
    named
        .flat_map(|(name, _)| row.all().map(|value| table::copy_id(name, value)))
        .collect()
}

/// The element that an effect on a queue is about, where it says so.
fn item(effect: &QueueEffect) -> Option<&Item> {
    match effect {
        QueueEffect::Sent(item)
        | QueueEffect::Delivered(item, _)
        | QueueEffect::Deleted(item, _) => Some(item),
        QueueEffect::Released(_) | QueueEffect::Unseen { .. } => None,
    }
}

/// The ids of the rows that a call did something to.
fn affected_ids(reply: &Reply) -> Vec<String> {
    let Reply::Postgres(reply) = reply else {
        return Vec::new();
    };
    let items = reply.effects.iter().filter_map(item);
    items.flat_map(item_ids).collect()
}

fn item_ids(item: &Item) -> Vec<String> {
    let mut ids = table::ids_in_item(item);
    ids.push(item.copy.clone());
    ids
}

/// The rows that became what a pattern says, if any did.
fn became(pattern: &Pattern, effects: &[QueueEffect]) -> Option<Vec<Subject>> {
    let Pattern::Row {
        change,
        queue,
        becomes,
    } = pattern
    else {
        return None;
    };
    let is_so = |item: &Item| {
        item.queue == *queue
            && becomes.as_ref().is_none_or(|(column, value)| {
                let seen = table::column(item, column);
                seen.as_ref() == Some(value)
            })
    };
    let ids = effects.iter().filter_map(|effect| match (change, effect) {
        (RowChange::Added, QueueEffect::Sent(item))
        | (RowChange::Claimed, QueueEffect::Delivered(item, _))
        | (RowChange::Finished, QueueEffect::Deleted(item, _)) => {
            is_so(item).then(|| item_ids(item))
        }
        (RowChange::Released, QueueEffect::Released(receipt)) => {
            let of_queue = receipt.starts_with(&table::copy_id(queue, ""));
            of_queue.then(|| vec![receipt.clone()])
        }
        _ => None,
    });
    let subjects = subjects_of(ids);
    (!subjects.is_empty()).then_some(subjects)
}

impl PgRequest {
    /// All that its transaction executed so far, with what it executes itself.
    fn of_transaction(&self) -> impl Iterator<Item = &Statement> {
        self.transaction.iter().chain(&self.statements)
    }

    /// Whether it works on a table that is this queue, or on any.
    pub(crate) fn works_on(&self, wire: Wire<'_>, queue: Option<&str>) -> bool {
        let known = wire.manifest.dependencies.get(wire.dependency);
        let Some(Protocol::Postgres { queues }) = known.map(|known| &known.protocol) else {
            return false;
        };
        let mut meant = queues
            .iter()
            .filter(|(name, _)| queue.is_none_or(|queue| queue == name.as_str()));
        meant.any(|(_, meant)| self.statements.iter().any(|one| meant.is_named_in(one)))
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
            Reply::Postgres(answer) => {
                let mut all = ids(manifest, dependency, answer.durable.iter());
                all.extend(affected_ids(reply));
                all
            }
            _ => self.ids(manifest, dependency),
        }
    }

    /// What was received or finished stands in no statement where a function did it.
    fn concerned_after(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        reply: &Reply,
    ) -> Option<Vec<Subject>> {
        let mut subjects = self.concerned(manifest, dependency);
        if let Some(subject) = subjects.first_mut() {
            subject.ids.extend(affected_ids(reply));
        }
        Some(subjects)
    }

    fn matches(&self, wire: Wire<'_>, pattern: &Pattern) -> bool {
        let has = |statement: &Statement, text| statement.sql.find(text).is_some();
        match pattern {
            Pattern::Statement(text) => self.statements.iter().any(|one| has(one, text)),
            Pattern::Transaction(text) => {
                self.commits && self.of_transaction().any(|one| has(one, text))
            }
            Pattern::Action { queue, .. } => self.works_on(wire, queue.as_deref()),
            Pattern::Row { queue, .. } => self.works_on(wire, Some(queue)),
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
            (Pattern::Row { .. }, Reply::Postgres(reply)) => became(pattern, &reply.effects),
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
        (Found::Main | Found::Unqualified, Some(0)) => None,
        (Found::Main | Found::Unqualified, Some(rows)) => Some(Effect::Rows(rows)),
        (Found::Aside, _) | (Found::Main | Found::Unqualified, None) => {
            Some(Effect::Untold(statement.sql.to_string()))
        }
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
    let mut ids = told_ids(manifest, dependency, statement, row);
    ids.extend(row_copies(manifest, dependency, statement, row));
    ids
}

fn told_ids(
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
