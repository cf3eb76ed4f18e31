//! What a tap saw of one round trip and of its end, as plain values.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use crate::history::Said;
use crate::protocol::queue::QueueEffect;
use crate::protocol::{Answers, Asks, ORDERED, shortened};
use crate::sql::{Lexer, Sql, Token};
use crate::tap::{Reply, Request};

/// So many words tell what a statement does, and to what: `insert into orders`.
const ACTION_WORDS: usize = 3;

/// One PostgreSQL round trip that executes something.
#[derive(Clone, Debug)]
pub struct PgRequest {
    /// What this round trip executes, in order.
    pub statements: Vec<Statement>,
    /// What the open transaction executed before this round trip.
    pub transaction: Vec<Statement>,
    /// Whether a transaction ends durably with this round trip if all goes well:
    /// it is a COMMIT, or it runs outside a transaction block.
    pub commits: bool,
    /// The session's database, where it is another than the declared one: what is done
    /// there passes no stage.
    pub elsewhere: Option<String>,
}

/// One executed statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The text with every run of white space folded to one blank.
    pub sql: Sql,
    /// The bind values, in order of their positions.
    pub binds: Vec<Bind>,
    /// How many rows it wrote, once it completed: nothing before, and for statements
    /// that report no such count. What its own transaction took away again is not counted.
    pub wrote: Option<u64>,
    /// The rows that came after it, if it is a COPY from the client that completed.
    pub copied: Option<Arc<Copied>>,
}

impl Statement {
    /// A statement that has not completed.
    pub fn new(sql: impl Into<Sql>, binds: Vec<Bind>) -> Self {
        Self {
            sql: sql.into(),
            binds,
            wrote: None,
            copied: None,
        }
    }
}

/// Rows that a client sent for a COPY.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copied {
    /// The first of them, column by column.
    pub rows: Vec<Vec<Bind>>,
    /// Whether there were more, or some that could not be read.
    pub more: bool,
}

/// One bind value.
#[derive(Clone, Debug, PartialEq)]
pub enum Bind {
    /// SQL NULL.
    Null,
    /// A value whose type the tap knows, in PostgreSQL's text form.
    Text(String),
    /// A value of another type, with its type's OID (0: the server was to infer it).
    Opaque {
        /// The type's OID.
        oid: u32,
        /// The value as sent.
        bytes: Bytes,
    },
}

/// The end of a PostgreSQL round trip: everything up to `ReadyForQuery`.
#[derive(Clone, Debug)]
pub struct PgReply {
    /// The command tags, one per statement that completed.
    pub tags: Vec<String>,
    /// The error, if one was reported.
    pub error: Option<PgError>,
    /// The transaction status of `ReadyForQuery`.
    pub status: TransactionStatus,
    /// All statements whose effects became durable with this round trip: those of
    /// the transaction that ended. Empty while a transaction stays open, and when
    /// it was rolled back.
    pub durable: Vec<Statement>,
    /// What it did to tables that are queues.
    pub effects: Vec<QueueEffect>,
}

/// An error as PostgreSQL reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PgError {
    /// SQLSTATE, five characters.
    pub code: String,
    /// The primary message.
    pub message: String,
}

/// The transaction status byte of `ReadyForQuery`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// `I`: no transaction is open.
    Idle,
    /// `T`: a transaction is open.
    Open,
    /// `E`: a transaction is open and failed.
    Failed,
}

impl Asks for PgRequest {
    fn summary(&self) -> String {
        let texts = self.statements.iter().map(|statement| &*statement.sql);
        shortened(&texts.collect::<Vec<&str>>().join("; "))
    }

    fn actions(&self) -> Vec<String> {
        let of = |statement: &Statement| {
            let words = statement.sql.split_whitespace().take(ACTION_WORDS);
            words.collect::<Vec<_>>().join(" ").to_lowercase()
        };
        let mut actions: Vec<String> = self.statements.iter().map(of).collect();
        actions.dedup();
        actions
    }

    fn said(&self) -> Said {
        let statements: Vec<&str> = self.statements.iter().map(|one| &*one.sql).collect();
        let bound = |statement: &Statement| {
            let binds = statement.binds.iter().map(|bind| format!("{bind:?}"));
            format!("[{}]", binds.collect::<Vec<String>>().join(", "))
        };
        let bound: Vec<String> = self.statements.iter().map(bound).collect();
        let binds_nothing = bound.iter().all(|values| values == "[]");
        Said {
            statements: Some(statements.join("\n")),
            content: if binds_nothing {
                Vec::new()
            } else {
                bound.join("\n").into_bytes()
            },
        }
    }

    fn is_only(&self, only: &str) -> bool {
        let wanted = Sql::from(only);
        let mut statements = self.statements.iter();
        statements.any(|statement| statement.sql.find(&wanted).is_some())
    }

    fn needs_writing(&self) -> bool {
        let mut statements = self.statements.iter();
        statements.any(|statement| writes(&statement.sql))
    }

    fn refusal(&self, code: &str) -> Result<Reply, String> {
        Ok(Reply::Postgres(PgReply {
            tags: Vec::new(),
            error: Some(PgError {
                code: format!("{code:0>5}"),
                message: format!("{ORDERED} {code}"),
            }),
            status: TransactionStatus::Failed,
            durable: Vec::new(),
            effects: Vec::new(),
        }))
    }
}

/// Whether a server that only reads would refuse a statement.
fn writes(sql: &Sql) -> bool {
    static WRITING: LazyLock<[Sql; 8]> = LazyLock::new(|| {
        [
            "insert into",
            "update",
            "delete from",
            "for update",
            "merge into",
            "nextval",
            "truncate",
            "for no key update",
        ]
        .map(Sql::from)
    });
    WRITING.iter().any(|word| sql.find(word).is_some())
}

impl PgReply {
    /// Whether something that was made durable may have changed rows, although no tag tells
    /// how many: in a `WITH` list, say.
    pub(crate) fn may_have_written(&self) -> bool {
        let uncounted = self.durable.iter().filter(|one| one.wrote.is_none());
        uncounted.into_iter().any(|one| changes_rows(&one.sql))
    }
}

/// Whether rows are changed anywhere in a statement. A lock (`for update`) changes none.
fn changes_rows(sql: &Sql) -> bool {
    let mut before = None;
    for (token, _) in Lexer::new(sql.written()) {
        let locks = before.is_some_and(|before: Token<'_>| before.is("for") || before.is("key"));
        let changes = ["insert", "delete", "merge", "truncate"]
            .iter()
            .any(|verb| token.is(verb));
        if changes || (token.is("update") && !locks) {
            return true;
        }
        before = Some(token);
    }
    false
}

/// Whether it is a statement that changes rows, and not one that has such a one in it.
fn begins_with_a_change(sql: &Sql) -> bool {
    let first = Lexer::new(sql.written()).next();
    first.is_some_and(|(token, _)| {
        let verbs = ["insert", "update", "delete", "merge"];
        verbs.iter().any(|verb| token.is(verb))
    })
}

impl Answers for PgReply {
    fn summary(&self) -> String {
        match &self.error {
            Some(error) => format!("error {} {}", error.code, error.message),
            None => self.tags.join("; "),
        }
    }

    fn is_success(&self) -> bool {
        self.error.is_none()
    }

    fn took_place(&self) -> bool {
        self.is_success() && self.status != TransactionStatus::Failed
    }

    fn wrote(&self, _request: &Request) -> bool {
        // Of a portal of which a part was fetched no tag tells the count: it had a row at least.
        let mut durable = self.durable.iter();
        durable.any(|statement| {
            let uncounted = || begins_with_a_change(&statement.sql);
            statement.wrote.map_or_else(uncounted, |rows| rows > 0)
        })
    }

    fn is_in_transaction(&self) -> Option<bool> {
        Some(self.status != TransactionStatus::Idle)
    }

    fn writes_on(&self) -> Option<bool> {
        if self.status == TransactionStatus::Idle {
            return Some(false);
        }
        let wrote = self.tags.iter().any(|tag| {
            let mut words = tag.split(' ');
            let verb = words.next().unwrap_or_default();
            matches!(verb, "INSERT" | "UPDATE" | "DELETE" | "MERGE")
                && words.next_back().is_some_and(|count| count != "0")
        });
        wrote.then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(sql: &str, wrote: Option<u64>) -> PgReply {
        let mut statement = Statement::new(sql, Vec::new());
        statement.wrote = wrote;
        PgReply {
            tags: Vec::new(),
            error: None,
            status: TransactionStatus::Idle,
            durable: vec![statement],
            effects: Vec::new(),
        }
    }

    #[test]
    fn what_no_tag_counts_is_told_by_the_statement() {
        let wrote = |sql: &str, rows| {
            let nothing = Request::Postgres(PgRequest {
                statements: Vec::new(),
                transaction: Vec::new(),
                commits: true,
                elsewhere: None,
            });
            reply(sql, rows).wrote(&nothing)
        };
        // A client that fetches one row of `RETURNING` gets no tag.
        assert!(wrote("INSERT INTO jobs VALUES (1) RETURNING 1", None));
        assert!(!wrote("INSERT INTO jobs VALUES (1) RETURNING 1", Some(0)));
        let hidden = "with x as (update jobs set a = 1 returning a) select * from x";
        assert!(!wrote(hidden, None), "a poll may find nothing");
        assert!(reply(hidden, None).may_have_written());
        for reads in [
            "select 1 from jobs for update skip locked",
            "select 1 from jobs for no key update",
            "select updated_at, 'insert' from jobs",
        ] {
            assert!(!reply(reads, None).may_have_written(), "{reads}");
        }
    }

    #[test]
    fn a_server_that_only_reads_refuses_what_writes() {
        for sql in [
            "INSERT INTO jobs VALUES (1)",
            "with x as (update jobs set a = 1 returning a) select * from x",
            "select 1 from jobs for no key update",
            "delete from jobs",
        ] {
            assert!(writes(&sql.into()), "{sql}");
        }
        for sql in ["select 1", "BEGIN", "COMMIT", "select updated_at from jobs"] {
            assert!(!writes(&sql.into()), "{sql}");
        }
    }
}
