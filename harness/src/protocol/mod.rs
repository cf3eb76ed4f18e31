//! What is known of one protocol, each in a folder of its own; what all of them tell of a
//! call stands in [`Asks`], [`Answers`] and [`concern::Concerns`].

pub(crate) mod concern;
pub mod http;
pub mod postgres;
pub mod queue;
pub mod redis;
mod spoilt;
pub mod sqs;
pub(crate) mod table;

pub(crate) use self::spoilt::spoilt;
use crate::history::Said;
use crate::tap::{Reply, Request};

/// What the reply says that a rehearsal gives in the place of a dependency.
pub(crate) const ORDERED: &str = "rehearsal answers";

/// What a request tells, whatever its protocol.
pub(crate) trait Asks {
    /// What it asks for, in a line for people.
    fn summary(&self) -> String;

    /// What it does, as facts: the action of a queue, the method of a request, the first words
    /// of each statement, the commands of Redis with their keys.
    fn actions(&self) -> Vec<String>;

    /// Its body, parameters, or statements with their values.
    fn said(&self) -> Said;

    /// The deliveries that it names.
    fn receipts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether `only` of an outage describes it.
    fn is_only(&self, only: &str) -> bool;

    /// Whether a server that only reads would refuse it.
    fn needs_writing(&self) -> bool {
        false
    }

    /// An error as its dependency would report it: a status code, an error code, a SQLSTATE.
    ///
    /// # Errors
    /// When the protocol has no such code.
    fn refusal(&self, code: &str) -> Result<Reply, String>;
}

/// What a reply tells, whatever its protocol.
pub(crate) trait Answers {
    /// The outcome, in a line for people.
    fn summary(&self) -> String;

    /// The status code, where the protocol has one.
    fn status(&self) -> Option<u16> {
        None
    }

    /// What it says, unless the facts that follow it tell all of it.
    fn content(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether it reports success.
    fn is_success(&self) -> bool;

    /// Whether it tells that its call took effect.
    fn took_place(&self) -> bool {
        self.is_success()
    }

    /// Whether the call changed something at its dependency for good.
    fn wrote(&self, _request: &Request) -> bool {
        false
    }

    /// Whether it left a transaction open.
    fn is_in_transaction(&self) -> Option<bool> {
        None
    }

    /// Whether something was written in a transaction that is still open.
    fn writes_on(&self) -> Option<bool> {
        None
    }
}

/// A text that is no longer than a line.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
