//! What a tap saw of one call and of its reply, as plain values.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::ids::{Author, CallId, ConnectionId, DependencyName};
use crate::protocol::redis::{RedisReply, RedisRequest};
use crate::sql::Sql;

/// One call: one HTTP request, one SQS action, one PostgreSQL round trip (all messages up to a
/// Sync, or one simple Query), or one command of Redis (of a transaction its EXEC).
#[derive(Clone, Debug)]
pub struct Call {
    /// Unique in the rehearsal.
    pub id: CallId,
    /// Who made it.
    pub author: Author,
    /// Whom it was meant for.
    pub dependency: DependencyName,
    /// The client connection it came on.
    pub connection: ConnectionId,
    /// What it asks for.
    pub request: Request,
}

/// What a call asks for, by protocol.
#[derive(Clone, Debug)]
pub enum Request {
    /// Plain HTTP.
    Http(HttpRequest),
    /// The SQS JSON protocol.
    Sqs(SqsRequest),
    /// The PostgreSQL wire protocol.
    Postgres(PgRequest),
    /// Redis.
    Redis(RedisRequest),
}

/// An HTTP request, whole or as far as it is held.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path without the query, as sent.
    pub path: String,
    /// The query without its `?`.
    pub query: Option<String>,
    /// Header names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub body: Bytes,
    /// Whether there is more of the body than is held: it is passed on as it comes.
    pub is_cut: bool,
}

/// One SQS action.
#[derive(Clone, Debug)]
pub struct SqsRequest {
    /// `ReceiveMessage`, `DeleteMessage`, …
    pub action: String,
    /// The queue's name (the last segment of its URL), where the action has one.
    pub queue: Option<String>,
    /// The request's JSON with the queue URL as the *dependency* knows it.
    pub body: Value,
    /// `amz-sdk-invocation-id`: the same for every wire attempt of one call of an SDK.
    pub invocation: Option<String>,
    /// The wire attempt within the invocation, from 1.
    pub attempt: u32,
}

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

/// What the dependency answered, by protocol.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An HTTP response.
    Http(HttpReply),
    /// The answer to an SQS action.
    Sqs(SqsReply),
    /// The end of a PostgreSQL round trip.
    Postgres(PgReply),
    /// The answer to a command of Redis, or to a transaction.
    Redis(RedisReply),
    /// The connection ended before a whole answer came.
    Broken {
        /// What was seen instead.
        reason: String,
    },
}

/// An HTTP response, whole or as far as it is held.
#[derive(Clone, Debug)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// The answer to an SQS action.
#[derive(Clone, Debug)]
pub struct SqsReply {
    /// The status code.
    pub status: u16,
    /// The error's short name (`QueueDoesNotExist`), if it is an error.
    pub error: Option<String>,
    /// The answer's JSON with queue URLs as the *dependency* knows them.
    pub body: Value,
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
