//! What a feature expects to be durable at one place, and what is there.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::baseline::{line, rows, writes};
use crate::rehearsal::Durable;

/// All that should be durable at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durability {
    place: Place,
    lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// Rows of a table, by these columns.
    Table(String, BTreeSet<String>),
    Service(String),
    Queue(String),
}

impl Durability {
    /// What is expected at a place: `table parcels`, `service partner`, `queue queue/jobs`.
    ///
    /// # Errors
    /// When it is no place, or the line is nothing that could be there.
    pub fn new(place: &str, line: Option<&str>) -> Result<Self, String> {
        let place = match place.split_once(' ') {
            Some(("table", name)) => Place::Table(name.trim().to_owned(), BTreeSet::new()),
            Some(("service", name)) => Place::Service(name.trim().to_owned()),
            Some(("queue", name)) => Place::Queue(name.trim().to_owned()),
            _ => {
                return Err(format!(
                    "`{place}` is no place; write `table NAME`, `service NAME` or `queue DEPENDENCY/QUEUE`"
                ));
            }
        };
        let mut durability = Self {
            place,
            lines: Vec::new(),
        };
        durability.add(line)?;
        Ok(durability)
    }

    /// Whether it is about this place.
    pub fn is_at(&self, place: &str) -> bool {
        self.place() == place
    }

    /// Expects one thing more.
    ///
    /// # Errors
    /// When it is nothing that could be there.
    pub fn add(&mut self, line: Option<&str>) -> Result<(), String> {
        let Some(line) = line else { return Ok(()) };
        let line = match &mut self.place {
            Place::Table(_, columns) => {
                let row: Map<String, Value> = serde_json::from_str(line)
                    .map_err(|error| format!("`{line}` is no row in JSON: {error}"))?;
                let own: BTreeSet<String> = row.keys().cloned().collect();
                if !columns.is_empty() && *columns != own {
                    return Err(format!("`{line}` has other columns than the row before it"));
                }
                *columns = own;
                Value::Object(row).to_string()
            }
            Place::Queue(_) => {
                let count: u32 = line
                    .parse()
                    .map_err(|_| format!("`{line}` is no number of messages"))?;
                count.to_string()
            }
            Place::Service(_) => line.to_owned(),
        };
        self.lines.push(line);
        Ok(())
    }

    /// The place as it is written.
    pub fn place(&self) -> String {
        match &self.place {
            Place::Table(name, _) => format!("table {name}"),
            Place::Service(name) => format!("service {name}"),
            Place::Queue(name) => format!("queue {name}"),
        }
    }

    /// What should be there.
    pub fn expected(&self) -> String {
        told(self.lines.clone())
    }

    /// What is there.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn seen(&self, durable: &Durable) -> Result<String, String> {
        match &self.place {
            Place::Table(name, columns) => {
                if !durable.tables.contains(name) {
                    let known: Vec<&str> = durable.tables.iter().map(String::as_str).collect();
                    return Err(format!(
                        "there is no table `{name}`; known: {}",
                        known.join(", ")
                    ));
                }
                let compared = (!columns.is_empty()).then_some(columns);
                let rows = rows(durable, name);
                Ok(told(
                    rows.into_iter().map(|row| line(row, compared)).collect(),
                ))
            }
            Place::Service(name) => Ok(told(writes(durable, name, &[]))),
            Place::Queue(name) => match durable.queues.get(name) {
                Some(count) => Ok(count.to_string()),
                None => Err(format!(
                    "there is no queue `{name}`; write `DEPENDENCY/QUEUE`"
                )),
            },
        }
    }
}

/// Lines in an order of their own.
fn told(mut lines: Vec<String>) -> String {
    lines.sort_unstable();
    if lines.is_empty() {
        return super::NOTHING.to_owned();
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rehearsal::Row;

    fn durable() -> Durable {
        let columns = [("id", "\"<M1>\""), ("state", "\"sent\""), ("at", "17")];
        let columns: BTreeMap<String, String> = columns
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Durable {
            rows: vec![Row {
                table: "parcels".to_owned(),
                columns,
                messages: BTreeSet::from(["M1".into()]),
            }],
            writes: Vec::new(),
            queues: BTreeMap::from([("queue/jobs".to_owned(), 2)]),
            tables: BTreeSet::from(["parcels".to_owned()]),
        }
    }

    fn agrees(place: &str, line: Option<&str>) -> bool {
        let durability = Durability::new(place, line).unwrap();
        durability.seen(&durable()).unwrap() == durability.expected()
    }

    #[test]
    fn rows_are_compared_by_the_columns_that_are_written() {
        assert!(agrees(
            "table parcels",
            Some(r#"{"state":"sent", "id":"<M1>"}"#)
        ));
        assert!(!agrees(
            "table parcels",
            Some(r#"{"state":"new","id":"<M1>"}"#)
        ));
        assert!(!agrees("table parcels", None));
    }

    #[test]
    fn writes_and_queues_are_counted() {
        assert!(agrees("service partner", None));
        assert!(!agrees("service partner", Some("POST /labels of M1")));
        assert!(agrees("queue queue/jobs", Some("2")));
        assert!(!agrees("queue queue/jobs", Some("0")));
    }

    #[test]
    fn what_makes_no_sense_says_why() {
        assert!(Durability::new("parcels", None).is_err());
        assert!(Durability::new("table parcels", Some("sent")).is_err());
        assert!(Durability::new("queue queue/jobs", Some("many")).is_err());
        let nowhere = Durability::new("table nowhere", None).unwrap();
        assert!(
            nowhere
                .seen(&durable())
                .unwrap_err()
                .contains("known: parcels")
        );
    }
}
