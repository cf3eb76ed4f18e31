//! What an outage makes of one call.

use std::sync::LazyLock;

use futures::future::BoxFuture;
use serde_json::json;

use super::{ErrorReply, Part, Way};
use crate::place;
use crate::protocol::redis::{self, KeyPattern, RedisReply};
use crate::sql::Sql;
use crate::tap::{
    Call, Discard, HttpReply, PgError, PgReply, Reply, Request, SqsReply, TransactionStatus,
};

/// What becomes of a call before it reaches its dependency.
pub enum Treatment {
    /// It is passed on.
    Forward,
    /// The client gets this; the dependency gets nothing.
    Answer(Reply),
    /// The client loses its connection; the dependency gets nothing.
    Discard(Discard),
    /// It waits for this, and is looked at again then.
    Wait(BoxFuture<'static, ()>),
}

/// What becomes of a reply before it reaches its caller.
pub enum Aftermath {
    /// The client gets this instead.
    Replace(Reply),
    /// The client loses its connection.
    Discard(Discard),
    /// It waits for this, and is delivered then.
    Wait(BoxFuture<'static, ()>),
}

impl Part {
    /// Whether `only` describes this call.
    pub(super) fn describes(&self, call: &Call) -> bool {
        let Some(only) = &self.only else { return true };
        match &call.request {
            Request::Sqs(request) => {
                request.action == *only || request.action.strip_suffix("Batch") == Some(only)
            }
            Request::Http(request) => {
                let (method, path) = only.split_once(' ').unwrap_or(("*", only));
                (method == "*" || method == request.method)
                    && place::match_path(path, &request.path).is_some()
            }
            Request::Postgres(request) => {
                let wanted = Sql::from(only.as_str());
                request
                    .statements
                    .iter()
                    .any(|statement| statement.sql.find(&wanted).is_some())
            }
            Request::Redis(request) => {
                let (name, key) = only.split_once(' ').unwrap_or((only, "*"));
                let key = KeyPattern::parse(key).ok().filter(|_| only.contains(' '));
                let mut commands = request.commands.iter();
                commands.any(|command| redis::subject::is(command, name, key.as_ref()))
            }
        }
    }
}

impl Way {
    /// Whether it does anything to this call at all.
    pub(super) fn concerns(&self, call: &Call) -> bool {
        match (self, &call.request) {
            (Self::ReadsOnly, Request::Postgres(request)) => request
                .statements
                .iter()
                .any(|statement| writes(&statement.sql)),
            (Self::ReadsOnly, _) => false,
            _ => true,
        }
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

impl ErrorReply {
    /// The reply as the protocol of this call has it.
    pub(super) fn to(&self, call: &Call) -> Reply {
        match &call.request {
            Request::Http(_) => Reply::Http(HttpReply {
                status: match self {
                    Self::Status(status) => *status,
                    Self::Code(_) => 500,
                },
                headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
                body: "an outage of the rehearsal\n".into(),
            }),
            Request::Sqs(_) => {
                let (status, error) = match self {
                    Self::Status(status) if *status >= 500 => (*status, "InternalFailure"),
                    Self::Status(status) => (*status, "RequestThrottled"),
                    Self::Code(code) => match code.as_str() {
                        "InternalFailure" | "InternalError" => (500, code.as_str()),
                        "ServiceUnavailable" => (503, code.as_str()),
                        _ => (400, code.as_str()),
                    },
                };
                Reply::Sqs(SqsReply {
                    status,
                    error: Some(error.to_owned()),
                    body: json!({ "message": "an outage of the rehearsal" }),
                })
            }
            Request::Postgres(_) => Reply::Postgres(PgReply {
                tags: Vec::new(),
                error: Some(PgError {
                    code: match self {
                        Self::Status(status) => format!("{status:05}"),
                        Self::Code(code) => code.clone(),
                    },
                    message: "an outage of the rehearsal".to_owned(),
                }),
                status: TransactionStatus::Idle,
                durable: Vec::new(),
            }),
            Request::Redis(_) => Reply::Redis(RedisReply::failed(match self {
                Self::Status(status) => format!("ERR {status} an outage of the rehearsal"),
                Self::Code(code) => format!("{code} an outage of the rehearsal"),
            })),
        }
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
