//! What is durable without faults, and which of it is the same each time.
//!
//! Two rehearsals without faults are compared. A column that differs between them (times,
//! random ids, numbers that a sequence hands out) tells nothing and is left out; so is a
//! table, a service or a queue that does not even hold as much both times.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::difference::{Difference, Place};
use crate::ids::MessageName;
use crate::manifest::{Explore, Manifest, nearest};
use crate::rehearsal::{Durable, Row, Write};

/// What is durable without faults.
#[derive(Debug)]
pub(super) struct Baseline {
    durable: Durable,
    /// The columns of each table that are compared.
    columns: BTreeMap<String, BTreeSet<String>>,
    left_out: BTreeSet<Place>,
    ignored: BTreeSet<String>,
    /// When who deleted a message and only receives is at rest; none: after the usual time.
    pub(super) rest: Option<Duration>,
}

impl Baseline {
    /// Compares two rehearsals without faults.
    pub(super) fn of(explore: &Explore, first: Durable, second: &Durable) -> Self {
        let mut baseline = Self {
            durable: Durable::default(),
            columns: BTreeMap::new(),
            left_out: BTreeSet::new(),
            ignored: explore.ignore.iter().cloned().collect(),
            rest: None,
        };
        for table in first.tables.union(&second.tables) {
            let (one, other) = (rows(&first, table), rows(second, table));
            if one.len() != other.len() {
                baseline.left_out.insert(Place::Table(table.clone()));
                continue;
            }
            let names: BTreeSet<&String> = one
                .iter()
                .chain(&other)
                .flat_map(|row| row.columns.keys())
                .collect();
            let steady = names
                .into_iter()
                .filter(|column| values(&one, column) == values(&other, column))
                .filter(|column| !baseline.ignored.contains(&format!("{table}.{column}")))
                .cloned()
                .collect();
            baseline.columns.insert(table.clone(), steady);
        }
        let services: BTreeSet<String> = first
            .writes
            .iter()
            .chain(&second.writes)
            .map(|write| write.service.to_string())
            .collect();
        for service in services {
            if writes(&first, &service, &[]) != writes(second, &service, &[]) {
                baseline.left_out.insert(Place::Service(service));
            }
        }
        for queue in first.queues.keys() {
            if first.queues.get(queue) != second.queues.get(queue) {
                baseline.left_out.insert(Place::Queue(queue.clone()));
            }
        }
        baseline.durable = first;
        baseline
    }

    /// What `explore.ignore` names and is not there, with the nearest name.
    pub(super) fn unknown(&self, manifest: &Manifest) -> Vec<(String, Option<String>)> {
        let mut known: BTreeSet<String> = self.durable.tables.clone();
        known.extend(self.durable.queues.keys().cloned());
        known.extend(manifest.dependencies.keys().map(ToString::to_string));
        for row in &self.durable.rows {
            let columns = row.columns.keys();
            known.extend(columns.map(|column| format!("{}.{column}", row.table)));
        }
        // A table without a row that names a message shows no columns.
        let seen: BTreeSet<&String> = self.durable.rows.iter().map(|row| &row.table).collect();
        let unknown = self.ignored.iter().filter(|name| {
            let of_unseen = name.split_once('.').is_some_and(|(table, _)| {
                self.durable.tables.contains(table) && !seen.contains(&table.to_owned())
            });
            !known.contains(*name) && !of_unseen
        });
        unknown
            .map(|name| {
                (
                    name.clone(),
                    nearest(name, known.iter().map(String::as_str)),
                )
            })
            .collect()
    }

    /// What is not compared although nobody asked for that, in words.
    pub(super) fn left_out(&self) -> Vec<String> {
        self.left_out
            .iter()
            .map(|place| {
                format!("{place} is not compared: two rehearsals without faults differ in it")
            })
            .collect()
    }

    /// How something durable differs from this; what concerns an excused message is left
    /// out on both sides.
    pub(super) fn differences(&self, seen: &Durable, excused: &[MessageName]) -> Vec<Difference> {
        let mut differences = Vec::new();
        for table in self.durable.tables.union(&seen.tables) {
            let place = Place::Table(table.clone());
            if self.left_out.contains(&place) || self.ignored.contains(table) {
                continue;
            }
            let expected = self.lines(&self.durable, table, excused);
            let found = self.lines(seen, table, excused);
            differences.extend(Difference::between(place, &expected, &found));
        }
        let services: BTreeSet<String> = self
            .durable
            .writes
            .iter()
            .chain(&seen.writes)
            .map(|write| write.service.to_string())
            .collect();
        for service in services {
            let place = Place::Service(service.clone());
            if self.left_out.contains(&place) || self.ignored.contains(&service) {
                continue;
            }
            let expected = writes(&self.durable, &service, excused);
            let found = writes(seen, &service, excused);
            differences.extend(Difference::between(place, &expected, &found));
        }
        for (queue, found) in &seen.queues {
            let place = Place::Queue(queue.clone());
            if self.left_out.contains(&place) || self.ignored.contains(queue) || !excused.is_empty()
            {
                continue;
            }
            let expected = self.durable.queues.get(queue).copied().unwrap_or_default();
            let copies =
                |count: i64| vec!["a message".to_owned(); usize::try_from(count).unwrap_or(0)];
            differences.extend(Difference::between(
                place,
                &copies(expected),
                &copies(*found),
            ));
        }
        differences
    }

    /// What is durable at a place without faults, as lines of what is compared.
    pub(super) fn expected(&self, place: &Place) -> Vec<String> {
        match place {
            Place::Table(table) => self.lines(&self.durable, table, &[]),
            Place::Service(service) => writes(&self.durable, service, &[]),
            Place::Queue(queue) => {
                let count = self.durable.queues.get(queue).copied().unwrap_or_default();
                vec![count.to_string()]
            }
        }
    }

    /// The rows of a table as lines of what is compared.
    fn lines(&self, durable: &Durable, table: &str, excused: &[MessageName]) -> Vec<String> {
        // Where there is no row without faults, any is too much, and shown as a whole.
        let known = !rows(&self.durable, table).is_empty();
        let compared = self.columns.get(table).filter(|_| known);
        rows(durable, table)
            .into_iter()
            .filter(|row| !excused.iter().any(|message| row.messages.contains(message)))
            .map(|row| line(row, compared))
            .collect()
    }
}

/// A row as JSON of the columns that are compared.
pub(crate) fn line(row: &Row, compared: Option<&BTreeSet<String>>) -> String {
    let columns: Vec<String> = row
        .columns
        .iter()
        .filter(|(column, _)| compared.is_none_or(|compared| compared.contains(*column)))
        .map(|(column, value)| format!("{}:{value}", serde_json::Value::from(column.as_str())))
        .collect();
    format!("{{{}}}", columns.join(","))
}

pub(crate) fn rows<'d>(durable: &'d Durable, table: &str) -> Vec<&'d Row> {
    let rows = durable.rows.iter();
    rows.filter(|row| row.table == table).collect()
}

/// The values of one column, in an order of their own.
fn values<'r>(rows: &[&'r Row], column: &str) -> Vec<Option<&'r String>> {
    let mut values: Vec<_> = rows.iter().map(|row| row.columns.get(column)).collect();
    values.sort_unstable();
    values
}

/// The writes of a service as lines.
pub(crate) fn writes(durable: &Durable, service: &str, excused: &[MessageName]) -> Vec<String> {
    let writes = durable.writes.iter();
    let of_service = writes.filter(|write| write.service.as_str() == service);
    let kept = of_service.filter(|write| {
        let message = write.message.as_ref();
        !message.is_some_and(|message| excused.contains(message))
    });
    kept.map(written).collect()
}

fn written(write: &Write) -> String {
    match &write.message {
        Some(message) => format!("{} of {message}", write.request),
        None => write.request.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durable(rows: &[(&str, &[(&str, &str)])], writes: usize) -> Durable {
        let rows: Vec<Row> = rows
            .iter()
            .map(|(table, columns)| Row {
                table: (*table).to_owned(),
                columns: columns
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                messages: BTreeSet::from(["M1".into()]),
            })
            .collect();
        let write = Write {
            service: "partner".into(),
            request: "POST /labels".to_owned(),
            message: Some("M1".into()),
        };
        Durable {
            tables: rows.iter().map(|row| row.table.clone()).collect(),
            rows,
            writes: vec![write; writes],
            queues: BTreeMap::from([("queue/jobs".to_owned(), 0)]),
        }
    }

    fn baseline(ignore: &[&str]) -> Baseline {
        let explore = Explore {
            allowed: Vec::new(),
            ignore: ignore.iter().map(|name| (*name).to_owned()).collect(),
        };
        let first = durable(&[("jobs", &[("id", "1"), ("at", "5"), ("tries", "1")])], 1);
        let second = durable(&[("jobs", &[("id", "1"), ("at", "6"), ("tries", "1")])], 1);
        Baseline::of(&explore, first, &second)
    }

    #[test]
    fn what_differs_without_faults_is_not_compared() {
        let seen = durable(&[("jobs", &[("id", "1"), ("at", "9"), ("tries", "1")])], 1);
        assert!(baseline(&[]).differences(&seen, &[]).is_empty());
    }

    #[test]
    fn what_is_the_same_without_faults_must_be_the_same_with_them() {
        let seen = durable(&[("jobs", &[("id", "1"), ("at", "9"), ("tries", "2")])], 2);
        let told: Vec<String> = baseline(&[])
            .differences(&seen, &[])
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            told,
            [
                "table jobs: missing {\"id\":1,\"tries\":1} unexpected {\"id\":1,\"tries\":2}",
                "writes of partner: unexpected POST /labels of M1",
            ]
        );
    }

    #[test]
    fn a_person_says_what_is_not_compared() {
        let seen = durable(&[("jobs", &[("id", "1"), ("at", "9"), ("tries", "2")])], 2);
        let ignoring = baseline(&["jobs.tries", "partner"]);
        assert!(ignoring.differences(&seen, &[]).is_empty());
        assert!(baseline(&[]).differences(&seen, &["M1".into()]).is_empty());
    }

    #[test]
    fn a_table_that_holds_more_the_second_time_is_left_out_and_that_is_told() {
        let row: (&str, &[(&str, &str)]) = ("log", &[("id", "1")]);
        let (once, twice) = (durable(&[row], 0), durable(&[row, row], 0));
        let baseline = Baseline::of(&Explore::default(), once, &twice);
        assert!(baseline.differences(&durable(&[], 0), &[]).is_empty());
        assert!(baseline.left_out()[0].starts_with("table log is not compared"));
    }
}
