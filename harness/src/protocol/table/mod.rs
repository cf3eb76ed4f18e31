//! Tables as queues.
//!
//! **The table tells what happened, the wire tells who did it.** After each call that may have
//! written, once its transaction has ended and before its reply is delivered, the harness reads
//! the rows that wait or are in somebody's hand, on a connection of its own, and compares. So a
//! row that a function or a trigger claimed, gave back or finished is seen like any other, and
//! nothing need be said of statements. Whose call it was follows from the ids of rows in its
//! reply and among its values; where neither tells, from which calls were under way.
//!
//! ```text
//!            waiting ──claimed──▶ in hand ──row gone, or in another state──▶ done
//!               ▲                    │
//!               └─────given back─────┘
//! ```
//!
//! What a transaction changed and did not commit no other connection sees, but each row says
//! which transaction has locked or changed it, and the server which connection that is. A row
//! that waits, is so held, and was handed over in a reply of that transaction is in hand until
//! the transaction ends.

mod change;
mod evidence;
mod state;
#[cfg(test)]
mod tests;
mod watch;

use serde_json::Value;

pub(crate) use self::evidence::Returned;
pub(crate) use self::watch::{Seen, Watch};
use super::queue::Item;
use crate::stage::text_with_ids;
use crate::tap::Statement;

/// Shorter numbers are ids by chance.
const SHORTEST_NUMBER: usize = 6;

/// A table, or some rows of one, that serve as a queue. All but names are SQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableQueue {
    /// The table.
    pub table: String,
    /// What tells its rows apart.
    pub id: String,
    /// Which of its rows belong to the queue.
    pub only: Option<String>,
    /// Which of them wait.
    pub waiting: String,
    /// Which of them somebody works on; without it those that a transaction has locked.
    pub in_hand: Option<String>,
    /// Whether a row that waits can be claimed now.
    pub due: Option<String>,
    /// What is another with each claim.
    pub claim: Option<String>,
    /// Parts of names of functions that work on its rows.
    pub calls: Vec<String>,
    /// How the harness puts something there: `$1` is the body; it returns the id.
    pub put: Option<String>,
    /// How the harness makes a row due whose owner is dead: `$1` is its id as text.
    pub expire: Option<String>,
    /// The queue of the manifest that takes what was given up.
    pub dead_letter: Option<String>,
}

impl TableQueue {
    /// The column that holds the id, if it is one.
    pub(super) fn id_column(&self) -> &str {
        let name = self.id.rsplit('.').next().unwrap_or_default();
        name.trim_matches('"')
    }

    /// Whether a statement works on its rows, as far as its words tell.
    pub(crate) fn is_named_in(&self, statement: &Statement) -> bool {
        let text = statement.sql.to_lowercase();
        let table = self.table.rsplit('.').next().unwrap_or_default();
        let table = table.trim_matches('"').to_lowercase();
        let mut names = self.calls.iter().map(|name| name.to_lowercase());
        text.contains(&table) || names.any(|name| text.contains(&name))
    }

    pub(super) fn rows_sql(&self) -> String {
        let in_hand = self.in_hand.as_deref().unwrap_or("false");
        let claim = self.claim.as_deref().unwrap_or("null");
        format!(
            "select ({id})::text, ({in_hand}) is true, ({claim})::text, queued.xmin::text, \
             to_jsonb(queued)::text, case when queued.xmax::text <> '0' then \
             (select pid from pg_stat_activity where backend_xid = queued.xmax) end from {table} queued \
             where ({only}) and (({waiting}) or ({in_hand}))",
            id = self.id,
            table = self.table,
            only = self.only.as_deref().unwrap_or("true"),
            waiting = self.waiting,
        )
    }

    /// Rows by their ids, whatever state they are in.
    pub(super) fn left_sql(&self) -> String {
        format!(
            "select ({id})::text, to_jsonb(queued)::text from {table} queued \
             where ({id})::text = any($1)",
            id = self.id,
            table = self.table,
        )
    }

    pub(super) fn counts_sql(&self) -> String {
        let in_hand = self.in_hand.as_deref().unwrap_or("false");
        let due = self.due.as_deref().unwrap_or("true");
        format!(
            "select count(*) filter (where ({waiting}) and ({due})), \
             count(*) filter (where ({in_hand})), \
             count(*) filter (where ({waiting}) and ({due}) is not true) \
             from {table} queued where ({only})",
            waiting = self.waiting,
            table = self.table,
            only = self.only.as_deref().unwrap_or("true"),
        )
    }
}

/// What a row of a queue is called, whichever wire names it.
pub(crate) fn copy_id(queue: &str, row: &str) -> String {
    format!("{queue}/{row}")
}

/// The ids in a row: its own, and whatever stands in it.
pub(crate) fn ids_in_item(item: &Item) -> Vec<String> {
    let mut ids: Vec<String> = item
        .entry
        .iter()
        .map(|id| String::from_utf8_lossy(id).into_owned())
        .collect();
    if let Ok(row) = serde_json::from_slice(&item.text) {
        collect(&row, &mut ids);
    }
    ids
}

/// What a column of a row reads.
pub(crate) fn column(item: &Item, name: &str) -> Option<String> {
    let row: Value = serde_json::from_slice(&item.text).ok()?;
    match row.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            let text = number.to_string();
            if text.len() >= SHORTEST_NUMBER {
                into.push(text);
            }
        }
        Value::String(text) => {
            match serde_json::from_str::<Value>(text) {
                Ok(inner @ (Value::Object(_) | Value::Array(_))) => collect(&inner, into),
                _ => into.push(text_with_ids(text.as_bytes())),
            }
            into.push(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(members) => members.values().for_each(|item| collect(item, into)),
    }
}
