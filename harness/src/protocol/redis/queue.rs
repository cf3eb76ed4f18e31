//! What a queue is in Redis, as a manifest describes it.

use super::command::{Command, number};
use super::key::KeyPattern;

/// Scripts that name a queue may take from it.
const SCRIPTS: [&str; 3] = ["EVAL", "EVALSHA", "FCALL"];
/// So many may come where no limit is asked for.
const MANY: u32 = 1_000;

/// A queue: a key, and how what waits there is taken and done with.
#[derive(Clone, Debug, PartialEq)]
pub struct RedisQueue {
    /// What kind of key it is.
    pub kind: Kind,
    /// Where elements are while somebody works on them: lists, sorted sets or hashes.
    pub processing: Vec<KeyPattern>,
    /// The queue of the manifest that takes what was given up.
    pub dead_letter: Option<String>,
}

/// What kind of key a queue is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A list: elements are pushed and popped.
    List {
        /// The key.
        key: String,
    },
    /// A stream that a group of consumers reads.
    Stream {
        /// The key.
        key: String,
        /// The group's name.
        group: String,
    },
    /// A sorted set: members wait for a time or for their turn.
    Sorted {
        /// The key.
        key: String,
        /// The key that a worker sets for a member while it works on it, which stays in
        /// the set until it is done.
        claim: Option<KeyPattern>,
    },
}

impl RedisQueue {
    /// Its key.
    pub fn key(&self) -> &str {
        match &self.kind {
            Kind::List { key } | Kind::Stream { key, .. } | Kind::Sorted { key, .. } => key,
        }
    }

    /// What it is called at its dependency: several groups may read one stream.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Stream { key, group } => format!("{key}/{group}"),
            Kind::List { key } | Kind::Sorted { key, .. } => key.clone(),
        }
    }

    /// Whether a command asks this queue for elements, and for how many at most.
    pub fn is_asked_by(&self, command: &Command) -> Option<u32> {
        let keys = command.keys();
        let named = keys.iter().any(|key| key.as_ref() == self.key().as_bytes());
        let asks = match &self.kind {
            Kind::List { .. } => command.is_receive() || SCRIPTS.contains(&command.name.as_str()),
            Kind::Stream { group, .. } => {
                let wanted = match command.name.as_str() {
                    "XREADGROUP" => command.option("GROUP").map(|at| at + 1),
                    "XCLAIM" | "XAUTOCLAIM" => Some(1),
                    _ => None,
                };
                let asked = wanted.and_then(|at| command.arguments.get(at));
                asked.is_some_and(|asked| asked.as_ref() == group.as_bytes())
            }
            Kind::Sorted { .. } => {
                command.is_receive()
                    || command.name.starts_with("ZRANGE")
                    || SCRIPTS.contains(&command.name.as_str())
            }
        };
        (named && asks).then(|| command.at_most())
    }
}

impl Command {
    /// How many elements it asks for at most.
    fn at_most(&self) -> u32 {
        let after = |option: &str| self.option(option).map(|at| at + 1);
        let count = match self.name.as_str() {
            "XREADGROUP" | "XAUTOCLAIM" | "LMPOP" | "BLMPOP" | "ZMPOP" | "BZMPOP" => after("COUNT"),
            "LPOP" | "RPOP" | "SPOP" | "ZPOPMIN" | "ZPOPMAX" => Some(1),
            _ if self.name.starts_with("ZRANGE") => after("LIMIT").map(|at| at + 1),
            _ => None,
        };
        let count = count.and_then(|at| number(self.arguments.get(at)?));
        let unbounded = self.name == "XREADGROUP" || self.name.starts_with("ZRANGE");
        let most = if unbounded { MANY } else { 1 };
        count.map_or(most, |count| u32::try_from(count).unwrap_or(u32::MAX))
    }
}
