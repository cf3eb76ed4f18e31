//! What one connection is in the middle of: a transaction, a subscription, a version of
//! the protocol.

use bytes::{Bytes, BytesMut};

use super::call::RedisRequest;
use super::command::Command;
use super::value::Value;

/// What becomes of a command that a client sent.
#[derive(Debug, PartialEq)]
pub(super) enum Class {
    /// A call.
    Call(RedisRequest),
    /// It is passed on with its answer, and is no call: it has no effect by itself.
    Aside,
    /// It is passed on; what is answered comes like everything that is pushed.
    Subscription,
    /// It is not passed on: behind it nothing could be told of the connection any more.
    Refused(&'static str),
}

/// The state of one connection.
#[derive(Debug, Default)]
pub(super) struct Session {
    version3: bool,
    /// Commands between MULTI and EXEC, if a transaction is open.
    queued: Option<Vec<Command>>,
    /// A command could not be queued: the transaction will fail as a whole.
    aborted: bool,
    /// What opened and filled the transaction, as it was sent.
    opened: BytesMut,
    /// Answers to MULTI and what was queued.
    queue_answers: usize,
    /// Channels that are subscribed, by the last confirmation.
    channels: i64,
    /// Confirmations that are still to come.
    unconfirmed: usize,
}

impl Session {
    /// What becomes of a command.
    pub(super) fn class(&self, command: &Command) -> Class {
        let name = command.name.as_str();
        if let Some(queued) = &self.queued {
            return match name {
                "EXEC" if !queued.is_empty() && !self.aborted => Class::Call(RedisRequest {
                    commands: queued.clone(),
                    transaction: true,
                }),
                _ => Class::Aside,
            };
        }
        match name {
            "MONITOR" | "SYNC" | "PSYNC" | "REPLCONF" => {
                Class::Refused("the tap of a rehearsal passes no replication and no MONITOR on")
            }
            "CLIENT" if command.word(0).as_deref() == Some("REPLY") => Class::Refused(
                "the tap of a rehearsal needs the replies: CLIENT REPLY is not passed on",
            ),
            "SUBSCRIBE" | "UNSUBSCRIBE" | "PSUBSCRIBE" | "PUNSUBSCRIBE" | "SSUBSCRIBE"
            | "SUNSUBSCRIBE" => Class::Subscription,
            "MULTI" | "DISCARD" | "EXEC" | "UNWATCH" | "HELLO" | "AUTH" | "SELECT" | "CLIENT"
            | "READONLY" | "READWRITE" | "RESET" | "QUIT" | "COMMAND" => Class::Aside,
            _ => Class::Call(RedisRequest::single(command.clone())),
        }
    }

    /// A subscription, or its end, was passed on.
    pub(super) fn subscribing(&mut self, command: &Command) {
        self.unconfirmed += command.arguments.len().max(1);
    }

    /// A command was answered.
    pub(super) fn answered(&mut self, command: &Command, sent: &Bytes, answer: &Value) {
        let failed = matches!(answer, Value::Error(_));
        match command.name.as_str() {
            "EXEC" | "DISCARD" | "RESET" if !failed || command.name == "EXEC" => {
                self.close_transaction();
                if command.name == "RESET" {
                    *self = Self::default();
                }
            }
            "MULTI" if self.queued.is_none() && !failed => {
                self.queued = Some(Vec::new());
                self.opened.extend_from_slice(sent);
                self.queue_answers = 1;
            }
            "HELLO" if !failed => {
                match command.arguments.first().map(std::convert::AsRef::as_ref) {
                    Some(b"3") => self.version3 = true,
                    Some(b"2") => self.version3 = false,
                    _ => {}
                }
            }
            _ => {
                let Some(queued) = &mut self.queued else {
                    return;
                };
                if answer.text().is_some_and(|text| text.as_ref() == b"QUEUED") {
                    queued.push(command.clone());
                    self.opened.extend_from_slice(sent);
                    self.queue_answers += 1;
                } else if failed && !matches!(command.name.as_str(), "MULTI" | "WATCH") {
                    self.aborted = true;
                }
            }
        }
    }

    /// The transaction is over.
    pub(super) fn close_transaction(&mut self) {
        self.queued = None;
        self.aborted = false;
        self.opened.clear();
        self.queue_answers = 0;
    }

    /// What opens and fills the same transaction again, and how many answers that has.
    pub(super) fn once_more(&self) -> (Bytes, usize) {
        (Bytes::copy_from_slice(&self.opened), self.queue_answers)
    }

    /// Whether a frame of the dependency answers nothing; if so, it is noted.
    pub(super) fn takes_push(&mut self, frame: &Value) -> bool {
        let subscribed = self.channels > 0 || self.unconfirmed > 0;
        let kind = match frame {
            Value::Push(items) => items.first(),
            Value::List(items) if subscribed && !self.version3 => items.first(),
            _ => return false,
        };
        let kind = kind.and_then(Value::text).map_or(&b""[..], |kind| kind);
        match kind {
            b"subscribe" | b"unsubscribe" | b"psubscribe" | b"punsubscribe" | b"ssubscribe"
            | b"sunsubscribe" => {
                self.unconfirmed = self.unconfirmed.saturating_sub(1);
                if let Some(Value::Integer(channels)) = frame.items().last() {
                    self.channels = *channels;
                }
                true
            }
            b"message" | b"pmessage" | b"smessage" => true,
            _ => matches!(frame, Value::Push(_)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Command {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        Command::new(&words)
    }

    fn status(text: &'static str) -> Value {
        Value::Status(Bytes::from_static(text.as_bytes()))
    }

    fn does(session: &mut Session, line: &str, answer: &Value) -> Class {
        let command = command(line);
        let class = session.class(&command);
        session.answered(&command, &Bytes::copy_from_slice(line.as_bytes()), answer);
        class
    }

    #[test]
    fn a_transaction_is_one_call_at_its_end() {
        let mut session = Session::default();
        assert_eq!(does(&mut session, "MULTI", &status("OK")), Class::Aside);
        assert_eq!(
            does(&mut session, "LPUSH a b", &status("QUEUED")),
            Class::Aside
        );
        assert_eq!(
            session.once_more(),
            (Bytes::from_static(b"MULTILPUSH a b"), 2)
        );
        let executed = does(&mut session, "EXEC", &Value::List(vec![Value::Integer(1)]));
        let commands = vec![command("LPUSH a b")];
        let transaction = true;
        assert_eq!(
            executed,
            Class::Call(RedisRequest {
                commands,
                transaction
            })
        );
        assert!(matches!(
            session.class(&command("LPUSH a b")),
            Class::Call(_)
        ));
    }

    #[test]
    fn a_transaction_that_cannot_be_executed_is_no_call() {
        let mut session = Session::default();
        does(&mut session, "MULTI", &status("OK"));
        assert_eq!(session.class(&command("EXEC")), Class::Aside);
        does(
            &mut session,
            "NOSUCH",
            &Value::Error(Bytes::from_static(b"ERR unknown")),
        );
        does(&mut session, "LPUSH a b", &status("QUEUED"));
        assert_eq!(session.class(&command("EXEC")), Class::Aside);
        does(&mut session, "DISCARD", &status("OK"));
        assert!(matches!(
            session.class(&command("LPUSH a b")),
            Class::Call(_)
        ));
    }

    #[test]
    fn what_is_pushed_answers_nothing() {
        let mut session = Session::default();
        let list = |words: &[&'static str], number: Option<i64>| {
            let words = words
                .iter()
                .map(|word| Value::Text(Bytes::from_static(word.as_bytes())));
            Value::List(words.chain(number.map(Value::Integer)).collect())
        };
        assert!(
            !session.takes_push(&list(&["message", "c", "text"], None)),
            "a list that says so"
        );
        session.subscribing(&command("SUBSCRIBE c"));
        assert!(session.takes_push(&list(&["subscribe", "c"], Some(1))));
        assert!(session.takes_push(&list(&["message", "c", "text"], None)));
        assert!(!session.takes_push(&list(&["pong", ""], None)));
        session.subscribing(&command("UNSUBSCRIBE c"));
        assert!(session.takes_push(&list(&["unsubscribe", "c"], Some(0))));
        assert!(!session.takes_push(&list(&["message", "c", "text"], None)));
        let tracked = Value::Push(vec![Value::Text(Bytes::from_static(b"invalidate"))]);
        assert!(session.takes_push(&tracked));
    }

    #[test]
    fn what_would_hide_the_replies_is_refused() {
        let session = Session::default();
        assert!(matches!(
            session.class(&command("MONITOR")),
            Class::Refused(_)
        ));
        assert!(matches!(
            session.class(&command("CLIENT REPLY OFF")),
            Class::Refused(_)
        ));
        assert_eq!(session.class(&command("CLIENT SETNAME x")), Class::Aside);
    }
}
