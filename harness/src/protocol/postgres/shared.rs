//! What the sessions of one database share, whichever process opened them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::protocol::table::Watch;
use crate::tap::Statement;

/// A database as the manifest means it.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// Its name; none where a session of any database is meant.
    pub database: Option<String>,
    /// Transactions that are prepared for a second phase.
    pub prepared: Prepared,
    /// What becomes of rows in tables that are queues.
    pub(crate) watch: Arc<Watch>,
}

impl Shared {
    /// Of the database of this name, in which no table is a queue.
    #[must_use]
    pub fn of(database: &str) -> Self {
        Self {
            database: Some(database.to_owned()),
            ..Self::default()
        }
    }

    /// The database of a session, where it is another than the one that is meant.
    pub(super) fn elsewhere(&self, database: Option<String>) -> Option<String> {
        database.filter(|name| self.database.as_ref().is_some_and(|meant| meant != name))
    }
}

/// Prepared transactions by their identifiers: any session may commit one, also after the
/// process that prepared it has died.
#[derive(Clone, Debug, Default)]
pub struct Prepared(Arc<Mutex<BTreeMap<String, Vec<Statement>>>>);

impl Prepared {
    /// Whether none waits for its second phase.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.transactions().is_empty()
    }

    pub(super) fn put(&self, name: &str, statements: Vec<Statement>) {
        self.transactions().insert(name.to_owned(), statements);
    }

    pub(super) fn get(&self, name: &str) -> Vec<Statement> {
        self.transactions().get(name).cloned().unwrap_or_default()
    }

    pub(super) fn take(&self, name: &str) -> Vec<Statement> {
        self.transactions().remove(name).unwrap_or_default()
    }

    fn transactions(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Statement>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
