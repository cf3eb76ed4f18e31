//! Tables that only a session sees: what is written to them is durable for nobody.

use std::collections::BTreeSet;

/// The temporary tables of a session, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Temporary {
    names: BTreeSet<String>,
    /// Those that end with their transaction.
    until_commit: BTreeSet<String>,
}

impl Temporary {
    pub(super) fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    pub(super) fn create(&mut self, name: &str, until_commit: bool) {
        self.names.insert(name.to_owned());
        if until_commit {
            self.until_commit.insert(name.to_owned());
        }
    }

    pub(super) fn drop(&mut self, tables: &[String]) {
        for table in tables {
            let name = table.strip_prefix("pg_temp.").unwrap_or(table);
            self.names.remove(name);
            self.until_commit.remove(name);
        }
    }

    /// A transaction was committed.
    pub(super) fn commit(&mut self) {
        for name in std::mem::take(&mut self.until_commit) {
            self.names.remove(&name);
        }
    }
}
