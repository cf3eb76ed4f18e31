//! What the names of tables mean to a session. A temporary table is one that only the session
//! sees: what is written to it is durable for nobody. A table without a schema is looked for
//! in the session's search path.

use std::collections::BTreeSet;

use crate::sql::Meanings;

/// The temporary tables of a session, by name, and where it looks for others.
#[derive(Clone, Debug, Default)]
pub(super) struct TableNames {
    temporary: BTreeSet<String>,
    /// Those that end with their transaction.
    until_commit: BTreeSet<String>,
    /// The first schema of its own choice in its search path.
    schema: Option<String>,
    /// What that was when the session began.
    at_first: Option<String>,
    /// What it will be again when the transaction ends.
    after_commit: Option<Path>,
}

/// The schema that a session looks in, if one is said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path(Option<String>);

impl TableNames {
    /// The session begins with a search path.
    pub(super) fn begin(&mut self, schema: Option<String>) {
        self.schema.clone_from(&schema);
        self.at_first = schema;
    }

    /// Unless they mean what they mean to every session.
    pub(super) fn meanings(&self) -> Option<Meanings<'_>> {
        if self.temporary.is_empty() && self.schema.is_none() {
            return None;
        }
        Some(Meanings {
            temporary: Some(&self.temporary),
            schema: self.schema.as_deref(),
        })
    }

    pub(super) fn create(&mut self, name: &str, until_commit: bool) {
        self.temporary.insert(name.to_owned());
        if until_commit {
            self.until_commit.insert(name.to_owned());
        }
    }

    pub(super) fn drop(&mut self, tables: &[String]) {
        for table in tables {
            let name = table.strip_prefix("pg_temp.").unwrap_or(table);
            self.temporary.remove(name);
            self.until_commit.remove(name);
        }
    }

    pub(super) fn discard_temporary(&mut self) {
        self.temporary.clear();
        self.until_commit.clear();
    }

    pub(super) fn look_in(&mut self, schema: Option<String>, until_commit: bool) {
        if until_commit {
            self.after_commit
                .get_or_insert_with(|| Path(self.schema.clone()));
        } else {
            self.after_commit = None;
        }
        self.schema = schema;
    }

    pub(super) fn look_where_it_did_at_first(&mut self) {
        self.look_in(self.at_first.clone(), false);
    }

    /// A transaction was committed.
    pub(super) fn commit(&mut self) {
        for name in std::mem::take(&mut self.until_commit) {
            self.temporary.remove(&name);
        }
        if let Some(Path(schema)) = self.after_commit.take() {
            self.schema = schema;
        }
    }
}
