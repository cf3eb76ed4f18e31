//! What waits and questions ask of a history, counted as it grows: nobody reads it again
//! from its beginning to learn that nothing has changed.

use std::collections::HashMap;

use super::{Entry, Event, Shared};
use crate::ids::{Incarnation, MessageName, RoleName, StageName};
use crate::shape::Shape;

/// Figures of a history up to its last entry.
#[derive(Debug, Default)]
pub struct Tally {
    stages: HashMap<StageName, OfStage>,
    extensions: HashMap<MessageName, usize>,
    calls: HashMap<RoleName, usize>,
    callers: Vec<Incarnation>,
    shapes: HashMap<u64, Shared<Shape>>,
    /// Every call of a process: when, who (a place in `callers`), and of which kind.
    made: Vec<(u64, u32, u64)>,
    jobs: HashMap<MessageName, String>,
    aliases: HashMap<MessageName, String>,
}

/// A call that was made.
#[derive(Clone, Copy, Debug)]
pub struct Made<'t> {
    /// Microseconds since the rehearsal began.
    pub at_us: u64,
    /// By whom.
    pub by: &'t Incarnation,
    /// Its shape.
    pub shape: &'t Shape,
}

#[derive(Debug, Default)]
struct OfStage {
    last: u64,
    messages: HashMap<MessageName, Passed>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    times: usize,
    last: u64,
}

impl Tally {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut tally = Self::default();
        for entry in entries {
            tally.feed(entry);
        }
        tally
    }

    /// Counts anew what is known of messages. Calls are not counted again: memory has not
    /// all of them.
    pub(super) fn rename(&mut self, entries: &[Entry]) {
        let of_messages = Self::of(entries);
        self.stages = of_messages.stages;
        self.extensions = of_messages.extensions;
        self.jobs = of_messages.jobs;
        self.aliases = of_messages.aliases;
    }

    /// Entries come in their order, but for those that were named late.
    pub(super) fn feed(&mut self, entry: &Entry) {
        match &entry.event {
            Event::Stage { stage, message, .. } => {
                let of_stage = self.stages.entry(stage.clone()).or_default();
                of_stage.last = of_stage.last.max(entry.seq);
                if let Some(message) = message {
                    let passed = of_stage.messages.entry(message.clone()).or_default();
                    passed.times += 1;
                    passed.last = passed.last.max(entry.seq);
                }
            }
            Event::VisibilityChanged {
                message: Some(message),
                seconds,
                ..
            } if *seconds > 0 => *self.extensions.entry(message.clone()).or_default() += 1,
            Event::Called {
                author,
                kind,
                shape,
                ..
            } => {
                if let Some(by) = author.incarnation() {
                    *self.calls.entry(by.role.clone()).or_default() += 1;
                    if let (Some(kind), Some(shape)) = (kind, shape) {
                        self.note_made(entry.at_us, by, *kind, shape);
                    }
                }
            }
            Event::Accepted { message, job } => {
                self.jobs.insert(message.clone(), job.clone());
            }
            Event::Alias { id, message } => {
                let first = self.aliases.entry(message.clone());
                first.or_insert_with(|| id.clone());
            }
            _ => {}
        }
    }

    fn note_made(&mut self, at_us: u64, by: &Incarnation, kind: u64, shape: &Shared<Shape>) {
        let known = self.callers.iter().rposition(|caller| caller == by);
        let place = known.unwrap_or_else(|| {
            self.callers.push(by.clone());
            self.callers.len() - 1
        });
        self.shapes.entry(kind).or_insert_with(|| shape.clone());
        let who = u32::try_from(place).unwrap_or(u32::MAX);
        self.made.push((at_us, who, kind));
    }

    /// Every call of a process, in order.
    pub fn made(&self) -> impl Iterator<Item = Made<'_>> {
        self.made.iter().filter_map(|(at_us, who, kind)| {
            Some(Made {
                at_us: *at_us,
                by: self.callers.get(*who as usize)?,
                shape: self.shapes.get(kind)?,
            })
        })
    }

    /// Whether an incarnation made any call.
    pub fn has_called(&self, incarnation: &Incarnation) -> bool {
        self.callers.contains(incarnation)
    }

    /// How many times a message has passed a stage.
    pub fn passages(&self, message: &MessageName, stage: &StageName) -> usize {
        self.passed(message, stage).times
    }

    /// Where a message passed a stage last; 0: nowhere.
    pub fn last_passage(&self, message: &MessageName, stage: &StageName) -> u64 {
        self.passed(message, stage).last
    }

    /// The stages that somebody passed.
    pub fn stages(&self) -> impl Iterator<Item = &StageName> {
        self.stages.keys()
    }

    fn passed(&self, message: &MessageName, stage: &StageName) -> Passed {
        let of_stage = self.stages.get(stage);
        let passed = of_stage.and_then(|of_stage| of_stage.messages.get(message));
        passed.copied().unwrap_or_default()
    }

    /// Where anything passed a stage last; 0: nowhere.
    pub fn last_passage_of_any(&self, stage: &StageName) -> u64 {
        self.stages.get(stage).map_or(0, |of_stage| of_stage.last)
    }

    /// How often receivers of a message asked for more time.
    pub fn extensions(&self, message: &MessageName) -> usize {
        self.extensions.get(message).copied().unwrap_or_default()
    }

    /// How many calls the processes of a role have made.
    pub fn calls(&self, role: &RoleName) -> usize {
        self.calls.get(role).copied().unwrap_or_default()
    }

    /// The job id of a message: as its client was told, else as it first was seen to mean it.
    pub fn job(&self, message: &MessageName) -> Option<&String> {
        self.jobs.get(message).or_else(|| self.aliases.get(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::Story;

    fn tallied(story: &Story) -> Tally {
        Tally::of(&story.entries())
    }

    #[test]
    fn passages_are_counted_for_each_message_and_stage() {
        let story = Story::new()
            .accepted("M1")
            .passed("tried", "M1")
            .passed("tried", "M1")
            .passed("shipped", "M2")
            .passed_by_nobody("shipped");
        let tally = tallied(&story);
        let at = |message: &str, stage: &str| {
            let (message, stage) = (message.into(), stage.into());
            let last = tally.last_passage(&message, &stage);
            (tally.passages(&message, &stage), last)
        };
        assert_eq!(at("M1", "tried"), (2, 6));
        assert_eq!(at("M2", "shipped"), (1, 7));
        assert_eq!(at("M2", "tried"), (0, 0));
        assert_eq!(tally.last_passage_of_any(&"shipped".into()), 8);
        assert_eq!(tally.last_passage_of_any(&"removed".into()), 0);
    }

    #[test]
    fn what_the_client_was_told_goes_before_what_was_seen() {
        let alias = |id: &str| Event::Alias {
            id: id.to_owned(),
            message: "M1".into(),
        };
        let seen = Story::new().then(alias("first")).then(alias("second"));
        let job = |story: &Story| tallied(story).job(&"M1".into()).cloned();
        assert_eq!(job(&seen).as_deref(), Some("first"));
        assert_eq!(job(&seen.accepted("M1")).as_deref(), Some("job-of-M1"));
        assert_eq!(job(&Story::new()), None);
    }
}
