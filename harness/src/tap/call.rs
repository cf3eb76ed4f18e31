//! What a tap saw of one call and of its reply, as plain values.

use crate::ids::{Author, CallId, ConnectionId, DependencyName};
use crate::protocol::http::{HttpReply, HttpRequest};
use crate::protocol::postgres::{PgReply, PgRequest};
use crate::protocol::redis::{RedisReply, RedisRequest};
use crate::protocol::sqs::{SqsReply, SqsRequest};
use crate::protocol::{Answers, Asks};

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

impl Request {
    /// What every protocol tells of a request.
    pub(crate) fn asks(&self) -> &dyn Asks {
        match self {
            Self::Http(request) => request,
            Self::Sqs(request) => request,
            Self::Postgres(request) => request,
            Self::Redis(request) => request,
        }
    }
}

impl Reply {
    /// What every protocol tells of a reply, where there is one.
    pub(crate) fn answers(&self) -> Option<&dyn Answers> {
        match self {
            Self::Http(reply) => Some(reply),
            Self::Sqs(reply) => Some(reply),
            Self::Postgres(reply) => Some(reply),
            Self::Redis(reply) => Some(reply),
            Self::Broken { .. } => None,
        }
    }

    /// The outcome in a line, for people.
    pub(crate) fn summary(&self) -> String {
        match (self, self.answers()) {
            (Self::Broken { reason }, _) => format!("broken: {reason}"),
            (_, Some(reply)) => reply.summary(),
            (_, None) => String::new(),
        }
    }

    /// Whether it tells that its call took effect.
    pub(crate) fn took_place(&self) -> bool {
        self.answers().is_some_and(Answers::took_place)
    }

    /// Whether it reports success.
    pub(crate) fn is_success(&self) -> bool {
        self.answers().is_some_and(Answers::is_success)
    }
}

impl Call {
    /// Whether the call changed something at its dependency for good. Facts of a queue are
    /// changes by themselves and do not count here.
    pub(crate) fn wrote(&self, reply: &Reply) -> bool {
        reply
            .answers()
            .is_some_and(|answers| answers.wrote(&self.request))
    }
}
