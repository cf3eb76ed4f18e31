//! What a tap saw of one call and of its answer.

use bytes::Bytes;

use super::command::Command;
use super::key::KeyPattern;
use super::value::Value;
use super::view::QueueEffect;
use super::{describe, subject};
use crate::history::Said;
use crate::protocol::{Answers, Asks, ORDERED, shortened};
use crate::tap::{Reply, Request};

/// One command, or all of a transaction at its EXEC: nothing of it has an effect before.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisRequest {
    /// What takes effect with this call, in order. Never empty.
    pub commands: Vec<Command>,
    /// Whether it is the EXEC of a transaction.
    pub transaction: bool,
}

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedisReply {
    /// The answer to each command, in order. Empty where none took effect.
    pub answers: Vec<Value>,
    /// The error, if the whole call has failed.
    pub error: Option<String>,
    /// What it did to queues.
    pub effects: Vec<QueueEffect>,
}

impl RedisRequest {
    /// One command by itself.
    pub fn single(command: Command) -> Self {
        Self {
            commands: vec![command],
            transaction: false,
        }
    }

    /// The commands that took effect, each with its answer.
    pub fn effective<'r>(
        &'r self,
        reply: &'r RedisReply,
    ) -> impl Iterator<Item = (&'r Command, &'r Value)> {
        let answered = self.commands.iter().zip(&reply.answers);
        answered.filter(|(command, answer)| command.took_effect(answer))
    }
}

impl RedisReply {
    /// The answer to a request. A transaction whose watched keys changed answers nothing.
    pub(super) fn of(request: &RedisRequest, value: Value) -> Self {
        if let Some(error) = value.error() {
            return Self::failed(error);
        }
        let answers = match value {
            Value::List(items) if request.transaction => items,
            _ if request.transaction => Vec::new(),
            value => vec![value],
        };
        Self {
            answers,
            ..Self::default()
        }
    }

    /// An error, with its code in front.
    pub fn failed(error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::default()
        }
    }

    /// As the protocol writes it; nothing where it is neither an error nor a short answer.
    pub(super) fn written(&self) -> Option<Bytes> {
        let line = match (&self.error, self.answers.as_slice()) {
            (Some(error), _) => format!("-{}", error.replace(['\r', '\n'], " ")),
            (None, [Value::Integer(number)]) => format!(":{number}"),
            (None, [Value::Status(status)]) => format!("+{}", String::from_utf8_lossy(status)),
            _ => return None,
        };
        Some(Bytes::from(format!("{line}\r\n")))
    }
}

/// What a server answers that did what a command asks for, as far as that can be told
/// without it.
pub(crate) fn pretended(request: &RedisRequest) -> Result<RedisReply, String> {
    let [command] = request.commands.as_slice() else {
        return Err("a transaction is not pretended".to_owned());
    };
    if request.transaction {
        return Err("a transaction is not pretended".to_owned());
    }
    let after = |keys: usize| {
        let items = command.arguments.len().saturating_sub(keys);
        Value::Integer(i64::try_from(items).unwrap_or(i64::MAX))
    };
    let answer = match (command.name.as_str(), command.arguments.len()) {
        ("DEL" | "UNLINK", _) => after(0),
        ("HDEL" | "ZREM" | "SREM" | "XDEL" | "SADD" | "LPUSH" | "RPUSH", _) => after(1),
        ("XACK", _) => after(2),
        ("LREM" | "EXPIRE" | "PEXPIRE" | "ZADD", _) => Value::Integer(1),
        ("SET", 2) => Value::Status(Bytes::from_static(b"OK")),
        (name, _) => return Err(format!("what {name} would be answered cannot be told")),
    };
    Ok(RedisReply {
        answers: vec![answer],
        ..RedisReply::default()
    })
}

impl Asks for RedisRequest {
    fn summary(&self) -> String {
        shortened(&describe::request(self))
    }

    fn actions(&self) -> Vec<String> {
        self.commands.iter().map(describe::command).collect()
    }

    fn said(&self) -> Said {
        Said {
            statements: None,
            content: describe::content(self),
        }
    }

    fn is_only(&self, only: &str) -> bool {
        let (name, key) = only.split_once(' ').unwrap_or((only, "*"));
        let key = KeyPattern::parse(key).ok().filter(|_| only.contains(' '));
        let mut commands = self.commands.iter();
        commands.any(|command| subject::is(command, name, key.as_ref()))
    }

    fn refusal(&self, code: &str) -> Result<Reply, String> {
        let code = if code.starts_with(|first: char| first.is_ascii_digit()) {
            format!("ERR {code}")
        } else {
            code.to_owned()
        };
        Ok(Reply::Redis(RedisReply::failed(format!(
            "{code} {ORDERED} {code}"
        ))))
    }
}

impl Answers for RedisReply {
    fn summary(&self) -> String {
        describe::reply(self)
    }

    fn content(&self) -> Vec<u8> {
        describe::reply_content(self)
    }

    fn is_success(&self) -> bool {
        self.error.is_none()
    }

    fn took_place(&self) -> bool {
        self.is_success() && !self.answers.is_empty()
    }

    fn wrote(&self, request: &Request) -> bool {
        let Request::Redis(request) = request else {
            return false;
        };
        let mut effective = request.effective(self);
        effective.any(|(command, answer)| command.wrote(answer))
    }
}
