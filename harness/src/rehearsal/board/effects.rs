//! Whether what a passage of an end is about was written: the wire tells of some statements
//! how many rows they wrote, and of others nothing.

use super::Board;
use crate::ids::{MessageName, StageName};
use crate::manifest::{Binding, Pattern, Stage};
use crate::sql::{Found, Sql};
use crate::stage::{self, Effect, Subject};
use crate::tap::{Call, Reply, Statement};

impl Board {
    /// Of the messages of a passage those for which it counts. What cannot be told of an end
    /// is a doubt.
    pub(super) fn written(
        &self,
        stage: &StageName,
        subject: &Subject,
        passing: Vec<Option<MessageName>>,
    ) -> Vec<Option<MessageName>> {
        let manifest = &self.0.manifest;
        if manifest.replay.as_ref() == Some(stage) {
            let replayed = |message: &MessageName| passing.contains(&Some(message.clone()));
            self.state().ended.retain(|(_, message)| !replayed(message));
        }
        let fleet = manifest.stages.get(stage).is_some_and(|it| it.fleet);
        if fleet || !manifest.is_end(stage) {
            return passing;
        }
        let names_nothing = subject.ids.is_empty() && subject.inherited.is_empty();
        if names_nothing && passing.iter().all(Option::is_none) {
            let how = manifest.how_to_recognise_at(stage);
            self.doubt_once(&format!(
                "the stage `{stage}` ended a message that nothing in its call names: {how}"
            ));
        }
        let passing = match &subject.effect {
            Effect::Whole => passing,
            Effect::Untold(sql) => {
                if !manifest.is_backed(stage) {
                    self.doubt_once(&untold(stage, sql));
                }
                // Where its row stood already it met a conflict, or the claim shows another.
                self.without(&passing, |end| end == stage)
            }
            Effect::Rows(rows) => self.fresh(stage, *rows, passing),
        };
        let messages = passing.iter().flatten();
        let ended = messages.map(|message| (stage.clone(), message.clone()));
        self.state().ended.extend(ended);
        passing
    }

    /// Of more messages than rows were written those that had not ended: the others met a
    /// conflict.
    fn fresh(
        &self,
        stage: &StageName,
        rows: u64,
        passing: Vec<Option<MessageName>>,
    ) -> Vec<Option<MessageName>> {
        let few = |count: usize| u64::try_from(count).is_ok_and(|count| count <= rows);
        if few(passing.len()) {
            return passing;
        }
        let fresh = self.without(&passing, |_| true);
        if !few(fresh.len()) {
            self.doubt_once(&format!(
                "a statement of the stage `{stage}` names {} messages and wrote {rows} rows: \
                 which of them ended is not told; let it report the rows one by one, or write \
                 one row a statement",
                passing.len()
            ));
            return passing;
        }
        // Rows that were there may have been written once more.
        if u64::try_from(fresh.len()).is_ok_and(|count| count == rows) {
            fresh
        } else {
            passing
        }
    }

    /// Those of the messages that have not passed such an end.
    fn without(
        &self,
        passing: &[Option<MessageName>],
        such: impl Fn(&StageName) -> bool,
    ) -> Vec<Option<MessageName>> {
        let state = self.state();
        let ended = |message: &MessageName| {
            let mut ends = state.ended.iter();
            ends.any(|(end, ended)| ended == message && such(end))
        };
        passing
            .iter()
            .filter(|message| !message.as_ref().is_some_and(ended))
            .cloned()
            .collect()
    }

    /// Ends that a block of code may have made, of which no wire tells. Where a claim counts
    /// them, a difference would convict somebody of what was not seen.
    pub(super) fn doubt_hidden(&self, call: &Call, reply: &Reply) {
        for stage in stage::hidden(&self.0.manifest, call, reply) {
            if self.0.manifest.is_end(&stage) && self.0.manifest.is_backed(&stage) {
                self.doubt_once(&format!(
                    "a DO block names what the stage `{stage}` waits for, and no wire tells \
                     whether it did it: have the statement executed by itself, or bind the \
                     stage to one that is"
                ));
            }
        }
    }
}

impl Board {
    /// Ends of which the system alone tells whether they stand, where it is not asked: rows that
    /// are deleted again, rows that a condition chose, and rows in a schema that is not told.
    pub(super) fn doubt_unbacked(&self, reply: &Reply) {
        let Reply::Postgres(reply) = reply else {
            return;
        };
        let manifest = &self.0.manifest;
        for end in manifest.terminal.values().map(|end| &end.stage) {
            let Some(stage) = manifest.stages.get(end) else {
                continue;
            };
            if manifest.is_observed(end) {
                continue;
            }
            let chosen = |statement: &&Statement| chooses_its_rows(stage, statement);
            let chosen = reply.durable.iter().find(chosen);
            if manifest.is_claimed(end) {
                if let Some(statement) = chosen {
                    let uncertain = counted_alone(end, &statement.sql);
                    self.state().uncertain.insert(uncertain);
                }
                continue;
            }
            if let Some(statement) = chosen {
                self.doubt_once(&untold(end, &statement.sql));
            }
            let unqualified = |statement: &&Statement| {
                statement.wrote.is_some_and(|rows| rows > 0)
                    && text_of(stage).and_then(|text| statement.sql.find(text))
                        == Some(Found::Unqualified)
            };
            if let Some(statement) = reply.durable.iter().find(unqualified) {
                self.doubt_once(&in_which_schema(end, &statement.sql));
            }
            let Some(deletion) = deletion_of(stage) else {
                continue;
            };
            let deletes = |statement: &&Statement| {
                statement.wrote != Some(0) && statement.sql.find(&deletion).is_some()
            };
            for statement in reply.durable.iter().filter(deletes) {
                let ids = stage::values_in(statement);
                let gone = {
                    let known = self.state();
                    let messages = known.aliases.messages(&ids);
                    let mut ended = known.ended.iter().filter(|(of, _)| of == end);
                    ended
                        .find(|(_, message)| messages.is_empty() || messages.contains(message))
                        .map(|(_, message)| message.clone())
                };
                if let Some(message) = gone {
                    self.doubt_once(&format!(
                        "what the stage `{end}` wrote, which ended {message}, was deleted again \
                         (`{}`), and nothing tells whether the end still stands: put a \
                         `claim` behind a total that counts the stage",
                        deletion.trim()
                    ));
                }
            }
        }
    }
}

/// Whether an insert of this stage takes its row from where a condition holds: its values
/// say what was asked for, and not for whom a row was written.
fn chooses_its_rows(stage: &Stage, statement: &Statement) -> bool {
    let Some(text) = text_of(stage) else {
        return false;
    };
    let written = statement.sql.to_string().to_ascii_lowercase();
    statement.wrote.is_some_and(|rows| rows > 0)
        && statement.sql.values().is_empty()
        && !statement.sql.takes_lists_apart()
        && written.trim_start().starts_with("insert")
        && written.contains(" where ")
        && statement.sql.find(text) == Some(Found::Main)
}

/// The text by which the statements of a stage are known.
fn text_of(stage: &Stage) -> Option<&Sql> {
    match &stage.binding {
        Binding::Boundary {
            pattern: Pattern::Statement(text) | Pattern::Transaction(text),
            ..
        } => Some(text),
        _ => None,
    }
}

/// The statement that takes back what an end of this stage wrote.
fn deletion_of(stage: &Stage) -> Option<Sql> {
    let text = text_of(stage)?.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [insert, into, table, ..]
            if insert.eq_ignore_ascii_case("insert") && into.eq_ignore_ascii_case("into") =>
        {
            let table = table.split('(').next()?;
            Some(Sql::from(format!("delete from {table}")))
        }
        _ => None,
    }
}

fn in_which_schema(stage: &StageName, sql: &str) -> String {
    let shown = shortened(sql);
    format!(
        "the stage `{stage}` ends messages, and its session looks for the table of `{shown}` in a \
         search_path of its own: name the table with its schema in the stage, or put a `claim` \
         behind a total that counts the stage"
    )
}

fn untold(stage: &StageName, sql: &str) -> String {
    let shown = shortened(sql);
    format!(
        "the stage `{stage}` ends messages, and nothing tells which rows `{shown}` wrote, or \
         whether it wrote any: name an `observation` of the end, put a `claim` behind a total \
         that counts the stage, or bind it to a statement that writes by itself"
    )
}

/// As many rows as messages may be other messages' rows.
fn counted_alone(stage: &StageName, sql: &str) -> String {
    let shown = shortened(sql);
    format!(
        "the stage `{stage}` ends messages, and a condition chooses which rows `{shown}` writes: \
         a claim counts them and does not say whose they are; name an `observation` of the end"
    )
}

fn shortened(sql: &str) -> String {
    let mut shown: String = sql.chars().take(120).collect();
    if shown.len() < sql.len() {
        shown.push('…');
    }
    shown
}
