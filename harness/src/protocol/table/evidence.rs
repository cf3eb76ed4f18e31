//! What the wire tells of who did something to a row.

use std::collections::HashSet;

use super::TableQueue;
use crate::stage::values_in;
use crate::tap::Statement;

/// Values of rows that a reply brought, each with its column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Returned(Vec<(String, String)>);

/// So many values of one reply are looked at.
const MOST: usize = 20_000;

impl Returned {
    pub(crate) fn push(&mut self, column: &str, value: String) {
        if self.0.len() < MOST {
            self.0.push((column.to_owned(), value));
        }
    }

    fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The values that may be ids of a queue's rows: those of the column of that name, or of
    /// all columns where none has it.
    pub(super) fn ids(&self, queue: &TableQueue) -> HashSet<&str> {
        let own = queue.id_column();
        let named: HashSet<&str> = self
            .0
            .iter()
            .filter(|(column, _)| column == own)
            .map(|(_, value)| value.as_str())
            .collect();
        if !named.is_empty() {
            return named;
        }
        let all = self.0.iter().flat_map(|(_, value)| fields(value));
        all.collect()
    }
}

/// The fields of a row that came as one value; else the value itself.
fn fields(value: &str) -> impl Iterator<Item = &str> {
    let inner = value
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'));
    let fields = inner.into_iter().flat_map(|inner| inner.split(','));
    std::iter::once(value).chain(fields.map(|field| field.trim_matches('"')))
}

/// What a transaction said and was told up to now.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    statements: Vec<Statement>,
    returned: Returned,
}

impl Evidence {
    pub(super) fn add(&mut self, statements: &[Statement], returned: Returned) {
        self.statements.extend(statements.iter().cloned());
        self.returned.extend(returned);
    }

    /// Whether a reply handed this row over.
    pub(super) fn brought(&self, queue: &TableQueue, row: &str) -> bool {
        self.returned.ids(queue).contains(row)
    }

    /// Whether all that works on the queue puts rows there.
    pub(super) fn only_inserts(&self, queue: &TableQueue) -> bool {
        let mut works = self
            .statements
            .iter()
            .filter(|statement| queue.is_named_in(statement))
            .peekable();
        works.peek().is_some() && works.all(inserts)
    }

    /// Whether a statement that works on the queue names this row.
    pub(super) fn names(&self, queue: &TableQueue, row: &str) -> bool {
        self.statements
            .iter()
            .filter(|statement| queue.is_named_in(statement))
            .any(|statement| values_in(statement).iter().any(|value| value == row))
    }
}

/// Whether a statement puts rows there and does nothing else, as far as its words tell.
fn inserts(statement: &Statement) -> bool {
    let text = statement.sql.trim_start().to_lowercase();
    text.starts_with("insert ") && !text.contains(" for update")
}

/// Whether a statement may write or lock rows, as far as its words tell: any function may.
pub(super) fn may_write(statement: &Statement) -> bool {
    let text = statement.sql.trim_start().to_lowercase();
    let plain = [
        "select", "show", "set ", "listen", "unlisten", "begin", "fetch", "table ",
    ];
    let locks = text.contains(" for update") || text.contains(" for no key update");
    let begins = plain.iter().any(|word| text.starts_with(word));
    let harmless = begins && !locks && !text.contains('(');
    !harmless
}
