//! What outlives the processes once everything is quiet: rows that name a message, writes
//! that outside services performed, what lies in queues. Ids are replaced by the messages
//! that they mean, so that two rehearsals can be compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::ids::{DependencyName, MessageName};
use crate::shape::Shape;

/// A number with fewer digits is no id by itself.
const SHORTEST_NUMBER: usize = 5;

/// What is durable.
#[derive(Clone, Debug, Default)]
pub struct Durable {
    /// Rows that name a message.
    pub rows: Vec<Row>,
    /// Writes of outside services that the harness plays.
    pub writes: Vec<Write>,
    /// How many messages each queue holds, by `dependency/queue`.
    pub queues: BTreeMap<String, i64>,
    /// All tables, also those without such a row.
    pub tables: BTreeSet<String>,
}

/// A row that names a message.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its table: with its schema unless that is `public`, and with its dependency where
    /// there are several databases.
    pub table: String,
    /// Its columns, each as JSON with `<M1>` in place of every id of `M1`.
    pub columns: BTreeMap<String, String>,
    /// The messages that it names.
    pub messages: BTreeSet<MessageName>,
}

/// A write that an outside service performed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    /// Which service.
    pub service: DependencyName,
    /// Method and route.
    pub request: String,
    /// For which message, as far as that is known.
    pub message: Option<MessageName>,
}

impl Rehearsal {
    /// What is durable at this moment; meant for when everything is quiet.
    ///
    /// # Errors
    /// When a dependency cannot be asked.
    pub async fn durable(&self) -> Result<Durable, RehearsalError> {
        let names = Names::new(self.board.ids());
        let mut durable = Durable {
            writes: self.outside_writes(),
            ..Durable::default()
        };
        let several = self.dependencies.databases.len() > 1;
        for dependency in self.dependencies.databases.keys() {
            for (table, rows) in self.dependencies.tables(dependency).await? {
                let table = if several {
                    format!("{dependency}:{table}")
                } else {
                    table
                };
                durable.tables.insert(table.clone());
                let rows = rows.into_iter().map(|row| names.row(&table, row));
                durable
                    .rows
                    .extend(rows.filter(|row| !row.messages.is_empty()));
            }
        }
        for (name, dependency) in &self.manifest.dependencies {
            for queue in dependency.protocol.queues() {
                let counts = self.dependencies.counts(name, queue).await?;
                durable
                    .queues
                    .insert(format!("{name}/{queue}"), counts.all());
            }
        }
        Ok(durable)
    }

    fn outside_writes(&self) -> Vec<Write> {
        let names = Names::new(self.board.ids());
        let mut writes: Vec<Write> = self.board.history().read(|entries| {
            let performed = entries.iter().filter_map(|entry| match &entry.event {
                Event::Performed {
                    dependency,
                    request,
                    write: true,
                    message,
                    job,
                    ..
                } => {
                    let meant = job.as_deref().and_then(|job| names.meaning(job));
                    Some(Write {
                        service: dependency.clone(),
                        request: Shape::of_request(&self.manifest, dependency, request),
                        message: message.clone().or(meant),
                    })
                }
                _ => None,
            });
            performed.collect()
        });
        writes.sort();
        writes
    }
}

/// Which ids mean which message, longest first.
struct Names(Vec<(String, MessageName)>);

impl Names {
    fn new(mut ids: Vec<(String, MessageName)>) -> Self {
        ids.sort_by_key(|(id, _)| std::cmp::Reverse(id.len()));
        Self(ids)
    }

    fn meaning(&self, id: &str) -> Option<MessageName> {
        let known = self.0.iter().find(|(known, _)| known == id);
        known.map(|(_, message)| message.clone())
    }

    fn row(&self, table: &str, row: Map<String, Value>) -> Row {
        let mut messages = BTreeSet::new();
        let columns = row
            .into_iter()
            .map(|(column, value)| (column, self.named(value, &mut messages).to_string()))
            .collect();
        Row {
            table: table.to_owned(),
            columns,
            messages,
        }
    }

    /// A value with messages in place of ids.
    fn named(&self, value: Value, found: &mut BTreeSet<MessageName>) -> Value {
        match value {
            Value::String(text) => Value::String(self.in_text(&text, found)),
            Value::Number(number) => {
                let written = number.to_string();
                let known = (written.len() >= SHORTEST_NUMBER)
                    .then(|| self.meaning(&written))
                    .flatten();
                match known {
                    Some(message) => {
                        let name = format!("<{message}>");
                        found.insert(message);
                        Value::String(name)
                    }
                    None => Value::Number(number),
                }
            }
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.named(item, found));
                Value::Array(items.collect())
            }
            Value::Object(members) => {
                let members = members
                    .into_iter()
                    .map(|(name, member)| (name, self.named(member, found)));
                Value::Object(members.collect())
            }
            other => other,
        }
    }

    /// A text with messages in place of the ids that stand in it as whole words.
    fn in_text(&self, text: &str, found: &mut BTreeSet<MessageName>) -> String {
        let mut text = text.to_owned();
        for (id, message) in &self.0 {
            let too_short = id.len() < SHORTEST_NUMBER && id.chars().all(|c| c.is_ascii_digit());
            if too_short {
                continue;
            }
            let mut from = 0;
            while let Some(at) = text[from..].find(id.as_str()).map(|at| at + from) {
                let end = at + id.len();
                let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                if word(text[..at].chars().next_back()) || word(text[end..].chars().next()) {
                    from = end;
                    continue;
                }
                let name = format!("<{message}>");
                // A name that was put there already is no id again.
                if text[..at].ends_with('<') && text[end..].starts_with('>') {
                    from = end;
                    continue;
                }
                text.replace_range(at..end, &name);
                from = at + name.len();
                found.insert(message.clone());
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(value: Value) -> Row {
        let ids = [
            ("M1", "M1"),
            ("key-of-M1", "M1"),
            ("700001", "M1"),
            ("3", "M2"),
        ];
        let names = Names::new(
            ids.iter()
                .map(|(id, message)| ((*id).to_owned(), MessageName::new(*message)))
                .collect(),
        );
        match value {
            Value::Object(columns) => names.row("parcels", columns),
            other => panic!("{other} is no row"),
        }
    }

    #[test]
    fn ids_are_replaced_by_the_messages_that_they_mean() {
        let row = row(json!({
            "id": 700_001, "key": "key-of-M1", "note": "for M1, not M10", "tries": 3,
            "body": {"list": ["M1", null]},
        }));
        assert_eq!(row.columns["id"], "\"<M1>\"");
        assert_eq!(row.columns["key"], "\"<M1>\"");
        assert_eq!(row.columns["note"], "\"for <M1>, not M10\"");
        assert_eq!(row.columns["body"], "{\"list\":[\"<M1>\",null]}");
        assert_eq!(row.columns["tries"], "3");
        assert_eq!(row.messages, BTreeSet::from(["M1".into()]));
    }

    #[test]
    fn a_row_without_an_id_names_nobody() {
        assert!(
            row(json!({"tries": 3, "text": "M10", "none": null}))
                .messages
                .is_empty()
        );
    }
}
