//! What a tap saw of one call and of its answer.

use bytes::Bytes;

use super::command::Command;
use super::value::Value;
use super::view::QueueEffect;

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

    /// An error as a fault orders it, by its code: `LOADING`, `ERR`.
    pub fn ordered(code: &str) -> Self {
        Self::failed(format!("{code} rehearsal answers {code}"))
    }

    /// As the protocol writes it; nothing where it is no error.
    pub(super) fn written(&self) -> Option<Bytes> {
        let error = self.error.as_ref()?;
        let line = error.replace(['\r', '\n'], " ");
        Some(Bytes::from(format!("-{line}\r\n")))
    }
}
