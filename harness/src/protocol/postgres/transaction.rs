//! What the open transaction executed, and when it became durable.

use super::names::Executed;
use super::table_names::TableNames;
use super::undoing;
use crate::sql::Kind;
use crate::tap::{Statement, TransactionStatus};

/// The transaction of one session.
#[derive(Debug)]
pub(super) struct Transaction {
    /// As the last `ReadyForQuery` said.
    status: TransactionStatus,
    /// What was executed since the transaction opened and not rolled back, without the
    /// statements that only mark a transaction.
    executed: Vec<Executed>,
    savepoints: Vec<Savepoint>,
    tables: TableNames,
    /// What names meant before it opened.
    before: TableNames,
}

/// An open savepoint, with what there was before.
#[derive(Debug)]
struct Savepoint {
    name: String,
    executed: usize,
    tables: TableNames,
}

impl Default for Transaction {
    fn default() -> Self {
        Self {
            status: TransactionStatus::Idle,
            executed: Vec::new(),
            savepoints: Vec::new(),
            tables: TableNames::default(),
            before: TableNames::default(),
        }
    }
}

impl Transaction {
    /// The session begins, and looks for tables in a schema of its own choice first.
    pub(super) fn begin_session(&mut self, schema: Option<String>) {
        self.tables.begin(schema);
        self.before.clone_from(&self.tables);
    }

    pub(super) fn status(&self) -> TransactionStatus {
        self.status
    }

    pub(super) fn executed(&self) -> impl Iterator<Item = &Statement> {
        self.executed.iter().map(|executed| &executed.statement)
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
                Kind::PrepareTransaction(_) => (block, failed, pending) = (false, false, false),
                Kind::RollbackPrepared(_) => {}
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
                    durable.extend(self.committed());
                } else {
                    self.rolled_back();
                }
            }
            Kind::Rollback { .. } | Kind::PrepareTransaction(_) => self.rolled_back(),
            Kind::Savepoint(name) => self.savepoints.push(Savepoint {
                name,
                executed: self.executed.len(),
                tables: self.tables.clone(),
            }),
            Kind::Release(name) => {
                if let Some(at) = self.savepoint(&name) {
                    self.savepoints.truncate(at);
                }
            }
            Kind::RollbackTo(name) => {
                if let Some(at) = self.savepoint(&name) {
                    self.executed.truncate(self.savepoints[at].executed);
                    self.tables.clone_from(&self.savepoints[at].tables);
                    self.savepoints.truncate(at + 1);
                }
            }
            Kind::Begin => {}
            _ => self.push(executed, tag),
        }
    }

    /// A portal was executed in part: its effect took place, and its tag comes at the end.
    pub(super) fn suspended(&mut self, executed: Executed) {
        match self.begun(&executed) {
            Some(begun) => begun.returned += executed.returned,
            None => self.push(executed, ""),
        }
    }

    fn push(&mut self, mut executed: Executed, tag: &str) {
        let wrote = rows_written(tag, &executed.kind);
        if let Some(begun) = self.begun(&executed) {
            begun.statement.wrote = wrote.map(|rows| rows + begun.returned);
            begun.portal = None;
            return;
        }
        match &executed.kind {
            Kind::CreateTemporary { name, until_commit } => {
                self.tables.create(name, *until_commit);
            }
            Kind::Drop(tables) => self.tables.drop(tables),
            Kind::DiscardTemporary => self.tables.discard_temporary(),
            Kind::DiscardAll => {
                self.tables.discard_temporary();
                self.tables.look_where_it_did_at_first();
            }
            Kind::SearchPath {
                schema,
                until_commit,
            } => self.tables.look_in(schema.clone(), *until_commit),
            Kind::ResetSearchPath => self.tables.look_where_it_did_at_first(),
            _ => {}
        }
        executed.statement.wrote = wrote;
        if let Some(meanings) = self.tables.meanings() {
            executed.statement.sql = executed.statement.sql.in_session(meanings);
        }
        // Only a portal that was executed in part is executed again.
        if !tag.is_empty() {
            executed.portal = None;
        }
        self.executed.push(executed);
    }

    /// The statement that this one goes on with.
    fn begun(&mut self, executed: &Executed) -> Option<&mut Executed> {
        let portal = executed.portal.as_ref()?;
        self.executed
            .iter_mut()
            .rfind(|begun| begun.portal.as_ref() == Some(portal))
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
            if failed {
                self.rolled_back();
            } else {
                durable.extend(self.committed());
            }
        }
    }

    /// What it executed, for a transaction that is prepared: it leaves the session.
    pub(super) fn prepared(&mut self) -> Vec<Statement> {
        self.committed().collect()
    }

    fn committed(&mut self) -> impl Iterator<Item = Statement> + use<> {
        self.savepoints.clear();
        self.tables.commit();
        self.before.clone_from(&self.tables);
        let mut executed = std::mem::take(&mut self.executed);
        undoing::apply(&mut executed);
        executed.into_iter().map(|executed| executed.statement)
    }

    fn rolled_back(&mut self) {
        self.executed.clear();
        self.savepoints.clear();
        self.tables.clone_from(&self.before);
    }

    fn savepoint(&self, name: &str) -> Option<usize> {
        self.savepoints
            .iter()
            .rposition(|savepoint| savepoint.name == name)
    }
}

/// The count in the command tag of a statement that writes: `INSERT 0 1`, `UPDATE 3`.
fn rows_written(tag: &str, kind: &Kind) -> Option<u64> {
    let (verb, counts) = tag.split_once(' ')?;
    let copies = verb == "COPY" && matches!(kind, Kind::CopyIn(_));
    let writes = copies || matches!(verb, "INSERT" | "UPDATE" | "DELETE" | "MERGE");
    writes
        .then(|| counts.rsplit(' ').next()?.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use TransactionStatus::{Failed, Idle, Open};

    use super::*;

    fn executed(sql: &str) -> Executed {
        Executed::new(Statement::new(sql, Vec::new()), Kind::of(sql))
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

    /// What is found in what these make durable.
    fn finds(statements: &[&str], wanted: &str) -> bool {
        let mut transaction = Transaction::default();
        let mut durable = Vec::new();
        for sql in statements {
            let verb = sql.split(' ').next().unwrap().to_uppercase();
            let tag = if verb == "INSERT" {
                "INSERT 0 1"
            } else {
                &verb
            };
            transaction.completed(executed(sql), tag, &mut durable);
            if *sql != "begin" && !statements.contains(&"begin") {
                transaction.ready(Idle, false, &mut durable);
            }
        }
        durable
            .iter()
            .any(|statement| statement.sql.find(&wanted.into()).is_some())
    }

    #[test]
    fn what_is_written_to_a_temporary_table_is_found_nowhere() {
        let (create, insert) = ("create temp table a (b int)", "insert into a values (1)");
        assert!(!finds(&[create, insert], "insert into a"));
        assert!(finds(&[create, "drop table a", insert], "insert into a"));
        assert!(finds(&[create, "discard temp", insert], "insert into a"));
        let until_commit = "create temp table a (b int) on commit drop";
        assert!(!finds(
            &["begin", until_commit, insert, "commit"],
            "insert into a"
        ));
        assert!(finds(
            &["begin", until_commit, "commit", "begin", insert, "commit"],
            "insert into a"
        ));
        assert!(finds(
            &["begin", create, "rollback", "begin", insert, "commit"],
            "insert into a"
        ));
        assert!(finds(
            &[
                "begin",
                "savepoint s",
                create,
                "rollback to s",
                insert,
                "commit"
            ],
            "insert into a"
        ));
    }

    #[test]
    fn a_table_without_a_schema_is_one_of_the_search_path() {
        let (set, insert) = (
            "set search_path to shop, public",
            "insert into a values (1)",
        );
        let qualified = "insert into shop.a";
        assert!(finds(&[set, insert], qualified));
        assert!(finds(&["set schema 'shop'", insert], qualified));
        assert!(finds(
            &["SET SESSION search_path = \"shop\"", insert],
            qualified
        ));
        let by_function = "select pg_catalog.set_config('search_path', 'shop', false)";
        assert!(finds(&[by_function, insert], qualified));
        assert!(!finds(
            &["set search_path to \"$user\", public, shop", insert],
            qualified
        ));
        for undone in [
            "reset search_path",
            "set search_path to default",
            "discard all",
        ] {
            assert!(!finds(&[set, undone, insert], qualified), "{undone}");
        }
        let local = "set local search_path to shop";
        assert!(finds(&["begin", local, insert, "commit"], qualified));
        assert!(!finds(
            &["begin", local, "commit", "begin", insert, "commit"],
            qualified
        ));
        assert!(!finds(
            &["begin", set, "rollback", "begin", insert, "commit"],
            qualified
        ));
        assert!(finds(
            &["begin", set, "commit", "begin", insert, "commit"],
            qualified
        ));
    }

    #[test]
    fn a_portal_that_is_executed_in_parts_is_one_statement() {
        let mut transaction = Transaction::default();
        let mut durable = Vec::new();
        let part = || Executed {
            portal: Some(b"p".to_vec()),
            returned: 1,
            ..executed("insert")
        };
        transaction.suspended(part());
        transaction.suspended(part());
        transaction.completed(part(), "INSERT 0 1", &mut durable);
        transaction.completed(part(), "INSERT 0 0", &mut durable);
        transaction.ready(Idle, false, &mut durable);
        let wrote: Vec<_> = durable.iter().map(|statement| statement.wrote).collect();
        assert_eq!(wrote, [Some(3), Some(0)]);
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
        let written = |tag| rows_written(tag, &Kind::Plain);
        assert_eq!(written("INSERT 0 2"), Some(2));
        assert_eq!(written("UPDATE 0"), Some(0));
        assert_eq!(written("MERGE 0"), Some(0));
        assert_eq!(written("SELECT 3"), None);
        assert_eq!(written("COMMIT"), None);
        assert_eq!(written("COPY 3"), None);
        let copy = Kind::of("copy t from stdin");
        assert_eq!(rows_written("COPY 3", &copy), Some(3));
    }
}
