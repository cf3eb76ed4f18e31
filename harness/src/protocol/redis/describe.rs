//! Calls in words: for people who read a history, and as shapes.

use super::call::{RedisReply, RedisRequest};
use super::command::Command;
use super::value::Value;

/// How much of a content is kept for people.
const SHOWN: usize = 16 * 1024;

/// `LPUSH jobs`, each command of a transaction.
pub(crate) fn request(request: &RedisRequest) -> String {
    let commands: Vec<String> = request.commands.iter().map(command).collect();
    commands.join("; ")
}

pub(crate) fn command(command: &Command) -> String {
    let keys = command.keys().into_iter();
    let keys = keys.map(|key| String::from_utf8_lossy(key).into_owned());
    std::iter::once(command.name.clone())
        .chain(keys)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The commands with all their arguments.
pub(crate) fn content(request: &RedisRequest) -> Vec<u8> {
    let mut content = Vec::new();
    for command in &request.commands {
        content.extend_from_slice(command.name.as_bytes());
        for argument in &command.arguments {
            content.push(b' ');
            content.extend_from_slice(argument);
        }
        content.push(b'\n');
    }
    content.truncate(SHOWN);
    content
}

/// The outcome in a line.
pub(crate) fn reply(reply: &RedisReply) -> String {
    match &reply.error {
        Some(error) => format!("error {error}"),
        None if reply.answers.is_empty() => "nothing executed".to_owned(),
        None => {
            let answers: Vec<String> = reply.answers.iter().map(answer).collect();
            answers.join("; ")
        }
    }
}

fn answer(value: &Value) -> String {
    match value {
        Value::Error(text) => format!("error {}", String::from_utf8_lossy(text)),
        Value::Status(text) | Value::Scalar(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Null => "nothing".to_owned(),
        Value::Text(text) => format!("{} bytes", text.len()),
        Value::List(items) | Value::Push(items) => format!("a list of {}", items.len()),
        Value::Map(pairs) => format!("a map of {}", pairs.len()),
    }
}

/// What was answered, as far as it is text.
pub(crate) fn reply_content(reply: &RedisReply) -> Vec<u8> {
    let mut content = Vec::new();
    for answer in &reply.answers {
        for text in answer.texts() {
            content.extend_from_slice(text);
            content.push(b'\n');
        }
    }
    content.truncate(SHOWN);
    content
}
