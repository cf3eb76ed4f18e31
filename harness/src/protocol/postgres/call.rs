//! What a tap saw of one round trip and of its end, as plain values.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;

use crate::history::Said;
use crate::protocol::queue::QueueEffect;
use crate::protocol::{Answers, Asks, ORDERED, shortened};
use crate::sql::Sql;
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
        let mut durable = self.durable.iter();
        durable.any(|statement| statement.wrote.is_some_and(|rows| rows > 0))
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
