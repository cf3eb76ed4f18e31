//! What the open transaction executed, and when it became durable.

use super::super::{Statement, TransactionStatus};
use super::names::Executed;
use super::sql::Kind;

/// The transaction of one session.
#[derive(Debug)]
pub(super) struct Transaction {
    /// As the last `ReadyForQuery` said.
    status: TransactionStatus,
    /// What was executed since the transaction opened and not rolled back, without the
    /// statements that only mark a transaction.
    executed: Vec<Statement>,
    /// Open savepoints: the name, and how much had been executed before.
    savepoints: Vec<(String, usize)>,
}

impl Default for Transaction {
    fn default() -> Self {
        Self {
            status: TransactionStatus::Idle,
            executed: Vec::new(),
            savepoints: Vec::new(),
        }
    }
}

impl Transaction {
    pub(super) fn status(&self) -> TransactionStatus {
        self.status
    }

    pub(super) fn executed(&self) -> &[Statement] {
        &self.executed
    }

    /// Whether an implicit transaction has executed something that the next Sync ends.
    pub(super) fn awaits_sync(&self) -> bool {
        self.status == TransactionStatus::Idle && !self.executed.is_empty()
    }

    /// Whether a transaction ends durably with these statements if all goes well.
    /// `ends` tells whether an implicit transaction ends with them.
    pub(super) fn commits<'a>(&self, kinds: impl Iterator<Item = &'a Kind>, ends: bool) -> bool {
        let mut block = self.status != TransactionStatus::Idle;
        let mut failed = self.status == TransactionStatus::Failed;
        let mut pending = self.awaits_sync();
        let mut commits = false;
        for kind in kinds {
            match kind {
                Kind::Begin => block = true,
                Kind::Commit { chain } => {
                    commits |= !failed;
                    (block, failed, pending) = (*chain, false, false);
                }
                Kind::Rollback { chain } => (block, failed, pending) = (*chain, false, false),
                Kind::RollbackTo(_) => failed = false,
                Kind::PrepareTransaction => (block, failed, pending) = (false, false, false),
                _ => pending |= !block,
            }
        }
        commits || (ends && !block && pending)
    }

    /// The server completed a statement. What a COMMIT made durable is appended.
    pub(super) fn completed(
        &mut self,
        executed: Executed,
        tag: &str,
        durable: &mut Vec<Statement>,
    ) {
        match executed.kind {
            // The server completes COMMIT only after it committed, and answers ROLLBACK
            // when the transaction had failed.
            Kind::Commit { .. } => {
                if tag == "COMMIT" {
                    durable.append(&mut self.executed);
                }
                self.clear();
            }
            // What is prepared leaves the session; COMMIT PREPARED stands for itself.
            Kind::Rollback { .. } | Kind::PrepareTransaction => self.clear(),
            Kind::Savepoint(name) => self.savepoints.push((name, self.executed.len())),
            Kind::Release(name) => {
                if let Some(at) = self.savepoint(&name) {
                    self.savepoints.truncate(at);
                }
            }
            Kind::RollbackTo(name) => {
                if let Some(at) = self.savepoint(&name) {
                    self.executed.truncate(self.savepoints[at].1);
                    self.savepoints.truncate(at + 1);
                }
            }
            Kind::Begin => {}
            _ => {
                let mut statement = executed.statement;
                statement.wrote = rows_written(tag);
                self.executed.push(statement);
            }
        }
    }

    /// The round trip ended. What an implicit transaction made durable is appended.
    pub(super) fn ready(
        &mut self,
        status: TransactionStatus,
        failed: bool,
        durable: &mut Vec<Statement>,
    ) {
        self.status = status;
        if status == TransactionStatus::Idle {
            if !failed {
                durable.append(&mut self.executed);
            }
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.executed.clear();
        self.savepoints.clear();
    }

    fn savepoint(&self, name: &str) -> Option<usize> {
        self.savepoints
            .iter()
            .rposition(|(savepoint, _)| savepoint == name)
    }
}

/// The count in the command tag of a statement that writes: `INSERT 0 1`, `UPDATE 3`.
fn rows_written(tag: &str) -> Option<u64> {
    let (verb, counts) = tag.split_once(' ')?;
    let writes = matches!(verb, "INSERT" | "UPDATE" | "DELETE" | "MERGE");
    writes
        .then(|| counts.rsplit(' ').next()?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use TransactionStatus::{Failed, Idle, Open};

    use super::*;

    fn executed(sql: &str) -> Executed {
        Executed {
            statement: Statement {
                sql: sql.into(),
                binds: Vec::new(),
                wrote: None,
            },
            kind: Kind::of(sql),
        }
    }

    fn complete(transaction: &mut Transaction, statements: &[&str]) -> Vec<String> {
        let mut durable = Vec::new();
        for sql in statements {
            let tag = sql.split(' ').next().unwrap().to_uppercase();
            transaction.completed(executed(sql), &tag, &mut durable);
        }
        durable
            .into_iter()
            .map(|statement| statement.sql.to_string())
            .collect()
    }

    #[test]
    fn rolling_back_to_a_savepoint_forgets_what_came_after() {
        let mut transaction = Transaction::default();
        let durable = complete(
            &mut transaction,
            &[
                "begin",
                "a",
                "savepoint s",
                "b",
                "savepoint t",
                "c",
                "rollback to s",
                "d",
                "savepoint s",
                "e",
                "rollback to s",
                "release s",
                "rollback to s",
                "f",
                "commit",
            ],
        );
        assert_eq!(durable, ["a", "f"]);
    }

    #[test]
    fn a_commit_that_answers_rollback_makes_nothing_durable() {
        let mut transaction = Transaction::default();
        let mut durable = Vec::new();
        complete(&mut transaction, &["begin", "a"]);
        transaction.completed(executed("commit"), "ROLLBACK", &mut durable);
        transaction.ready(TransactionStatus::Idle, false, &mut durable);
        assert!(durable.is_empty());
    }

    #[test]
    fn what_commits_is_foreseen() {
        let commits = |status, statements: &[&str], ends| {
            let transaction = Transaction {
                status,
                ..Transaction::default()
            };
            let kinds: Vec<_> = statements.iter().map(|sql| Kind::of(sql)).collect();
            transaction.commits(kinds.iter(), ends)
        };
        assert!(commits(Idle, &["insert"], true));
        assert!(!commits(Idle, &["insert"], false));
        assert!(!commits(Idle, &["begin", "insert"], true));
        assert!(commits(Idle, &["begin", "insert", "commit"], true));
        assert!(!commits(Open, &["insert"], true));
        assert!(commits(Open, &["commit"], true));
        assert!(!commits(Open, &["rollback"], true));
        assert!(!commits(Failed, &["commit"], true));
        assert!(commits(Failed, &["commit", "insert"], true));
        assert!(!commits(Open, &["prepare transaction 'x'"], true));
    }

    #[test]
    fn the_count_of_rows_written_stands_in_the_tag() {
        assert_eq!(rows_written("INSERT 0 2"), Some(2));
        assert_eq!(rows_written("UPDATE 0"), Some(0));
        assert_eq!(rows_written("SELECT 3"), None);
        assert_eq!(rows_written("COMMIT"), None);
    }
}
