//! Scores of members of sorted sets: which of them a range takes away.

use bytes::Bytes;

use super::super::command::Command;
use super::super::value::Value;
use super::{State, View};

impl View {
    /// Notes the scores that a command gives, in sets that belong to a queue.
    pub(super) fn scored(&self, state: &mut State, command: &Command, answer: &Value) {
        if !matches!(command.name.as_str(), "ZADD" | "ZINCRBY") {
            return;
        }
        let Some(key) = command.arguments.first() else {
            return;
        };
        if self.queue_at(key).is_none() && self.processed_at(key).is_empty() {
            return;
        }
        if command.name == "ZINCRBY" {
            let score = answer.text().and_then(|text| number(text));
            if let (Some(member), Some(score)) = (command.arguments.get(2), score) {
                state.scores.insert((key.clone(), member.clone()), score);
            }
            return;
        }
        let only_known = command.option("XX").is_some();
        for (member, score) in command.scored() {
            let at = (key.clone(), member);
            if !only_known || state.scores.contains_key(&at) {
                state.scores.insert(at, score);
            }
        }
    }
}

impl State {
    /// The members that a removal by score takes away, each with its key.
    pub(super) fn in_range(&mut self, command: &Command) -> Vec<(Bytes, Bytes)> {
        let [key, least, most] = command.arguments.as_slice() else {
            return Vec::new();
        };
        if command.name != "ZREMRANGEBYSCORE" {
            return Vec::new();
        }
        let (Some(least), Some(most)) = (bound(least), bound(most)) else {
            return Vec::new();
        };
        let within = |score: f64| {
            let above = score > least.0 || (!least.1 && score >= least.0);
            above && (score < most.0 || (!most.1 && score <= most.0))
        };
        let members = self.scores.iter();
        let taken: Vec<(Bytes, Bytes)> = members
            .filter(|((at, _), score)| at == key && within(**score))
            .map(|(at, _)| at.clone())
            .collect();
        for at in &taken {
            self.scores.remove(at);
        }
        taken
    }
}

/// A bound of a range, and whether it is left out itself.
fn bound(text: &[u8]) -> Option<(f64, bool)> {
    match text.strip_prefix(b"(") {
        Some(rest) => Some((number(rest)?, true)),
        None => Some((number(text)?, false)),
    }
}

fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
