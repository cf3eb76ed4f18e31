//! Shapes of calls: what stays the same when the same line of a program makes a call
//! again, for another message or in another run.
//!
//! | protocol | shape |
//! |---|---|
//! | PostgreSQL | the statements without literals and bind values; a `COMMIT` with what it makes durable |
//! | SQS | the action, and the queue as the manifest names it |
//! | HTTP | the method, and the path without ids |
//! | Redis | the commands, each with its keys without ids |
//!
//! White space, letter case, comments, and the order of columns do not matter. A person
//! names a shape by a part of it: see [`Wanted`].

mod commands;
mod instead;
mod path;
mod sentence;
mod statement;
mod wanted;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::DependencyName;
use crate::manifest::Manifest;
use crate::stage::QueueNames;
use crate::tap::{Call, PgRequest, Request};

pub use self::instead::instead;
pub use self::wanted::{NotAShape, Wanted};

/// The shape of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// On whose wire.
    pub dependency: DependencyName,
    /// What is asked there.
    pub asked: Asked,
}

/// What a call asks for, without what differs from message to message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// A round trip to PostgreSQL, its statements joined by `; `.
    Statements(String),
    /// A `COMMIT`, with the statements of its transaction that may write.
    Commit(String),
    /// An action of SQS.
    Action {
        /// `DeleteMessage`.
        action: String,
        /// As the manifest names it, where the action has one.
        queue: Option<String>,
    },
    /// An HTTP request.
    Request {
        /// In upper case.
        method: String,
        /// With `{}` in place of each id.
        path: String,
    },
    /// Commands of Redis: one, or all of a transaction.
    Commands(Vec<String>),
}

impl Shape {
    /// The shape of a call; `queues` tells how queues of the manifest are named at their
    /// dependency.
    pub fn of(manifest: &Manifest, queues: QueueNames<'_>, call: &Call) -> Self {
        let asked = match &call.request {
            Request::Postgres(request) => of_round_trip(request),
            Request::Sqs(request) => Asked::Action {
                action: request.action.clone(),
                queue: request.queue.as_ref().map(|actual| {
                    let named = queues.iter().find(|((dependency, _), name)| {
                        *dependency == call.dependency && *name == actual
                    });
                    named.map_or_else(|| actual.clone(), |((_, name), _)| name.clone())
                }),
            },
            Request::Http(request) => Asked::Request {
                method: request.method.to_ascii_uppercase(),
                path: without_ids(manifest, &call.dependency, &request.path),
            },
            Request::Redis(request) => Asked::Commands(commands::shapes(request)),
        };
        Self {
            dependency: call.dependency.clone(),
            asked,
        }
    }
}

impl Shape {
    /// Method and route of a request to a service.
    pub fn of_request(manifest: &Manifest, dependency: &DependencyName, request: &str) -> String {
        let (method, path) = request.split_once(' ').unwrap_or((request, ""));
        let path = path.split('?').next().unwrap_or_default();
        format!("{method} {}", without_ids(manifest, dependency, path))
    }
}

pub(crate) fn without_ids(manifest: &Manifest, dependency: &DependencyName, path: &str) -> String {
    let routes = manifest
        .dependencies
        .get(dependency)
        .map_or(&[][..], |dependency| dependency.routes());
    path::without_ids(path, routes.iter().map(|route| route.path.as_str()))
}

fn of_round_trip(request: &PgRequest) -> Asked {
    let shapes = |statements: &[crate::tap::Statement]| -> Vec<String> {
        statements
            .iter()
            .map(|statement| statement.sql.shape(statement::shape).to_owned())
            .collect()
    };
    let own = shapes(&request.statements);
    let is_commit = matches!(own.as_slice(), [only] if statement::commits(only));
    if !is_commit {
        return Asked::Statements(own.join("; "));
    }
    let mut written = shapes(&request.transaction);
    written.retain(|shape| statement::may_write(shape));
    written.dedup();
    Asked::Commit(written.join("; "))
}

/// The shape of one statement.
pub(crate) fn of_statement(statement: &crate::tap::Statement) -> String {
    statement.sql.shape(statement::shape).to_owned()
}

impl Shape {
    /// Texts that name it, from the shortest to the whole.
    pub fn names(&self) -> Vec<String> {
        let mut names = match &self.asked {
            Asked::Statements(statements) => statement::heads(statements),
            Asked::Commit(written) => {
                let mut heads = statement::heads(written);
                for head in &mut heads {
                    head.insert_str(0, "commit of ");
                }
                heads
            }
            Asked::Action { action, .. } => vec![action.clone()],
            Asked::Request { .. } => Vec::new(),
            Asked::Commands(commands) => commands::names(commands),
        };
        names.push(self.to_string());
        names.dedup();
        names
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asked.fmt(f)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statements(statements) => f.write_str(statements),
            Self::Commit(written) if written.is_empty() => f.write_str("commit"),
            Self::Commit(written) => write!(f, "commit of {written}"),
            Self::Action {
                action,
                queue: Some(queue),
            } => write!(f, "{action} {queue}"),
            Self::Action {
                action,
                queue: None,
            } => f.write_str(action),
            Self::Request { method, path } => write!(f, "{method} {path}"),
            Self::Commands(commands) => f.write_str(&commands.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests;
