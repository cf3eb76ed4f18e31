//! Whether what a passage of an end is about was written: the wire tells of some statements
//! how many rows they wrote, and of others nothing.

use super::Board;
use crate::ids::{MessageName, StageName};
use crate::stage::{self, Effect, Subject};
use crate::tap::{Call, Reply};

impl Board {
    /// Of the messages of a passage those for which it counts. What cannot be told of an end
    /// is a doubt.
    pub(super) fn written(
        &self,
        stage: &StageName,
        subject: &Subject,
        passing: Vec<Option<MessageName>>,
    ) -> Vec<Option<MessageName>> {
        let manifest = &self.0.manifest;
        if manifest.replay.as_ref() == Some(stage) {
            let replayed = |message: &MessageName| passing.contains(&Some(message.clone()));
            self.state().ended.retain(|(_, message)| !replayed(message));
        }
        let fleet = manifest.stages.get(stage).is_some_and(|it| it.fleet);
        if fleet || !manifest.is_end(stage) {
            return passing;
        }
        let names_nothing = subject.ids.is_empty() && subject.inherited.is_empty();
        if names_nothing && passing.iter().all(Option::is_none) {
            let how = manifest.how_to_recognise_at(stage);
            self.doubt_once(&format!(
                "the stage `{stage}` ended a message that nothing in its call names: {how}"
            ));
        }
        let passing = match &subject.effect {
            Effect::Whole => passing,
            Effect::Untold(sql) => {
                if !manifest.is_claimed(stage) {
                    self.doubt_once(&untold(stage, sql));
                }
                // Where its row stood already it met a conflict, or the claim shows another.
                self.without(&passing, |end| end == stage)
            }
            Effect::Rows(rows) => self.fresh(stage, *rows, passing),
        };
        let messages = passing.iter().flatten();
        let ended = messages.map(|message| (stage.clone(), message.clone()));
        self.state().ended.extend(ended);
        passing
    }

    /// Of more messages than rows were written those that had not ended: the others met a
    /// conflict.
    fn fresh(
        &self,
        stage: &StageName,
        rows: u64,
        passing: Vec<Option<MessageName>>,
    ) -> Vec<Option<MessageName>> {
        let few = |count: usize| u64::try_from(count).is_ok_and(|count| count <= rows);
        if few(passing.len()) {
            return passing;
        }
        let fresh = self.without(&passing, |_| true);
        if !few(fresh.len()) {
            self.doubt_once(&format!(
                "a statement of the stage `{stage}` names {} messages and wrote {rows} rows: \
                 which of them ended is not told; let it report the rows one by one, or write \
                 one row a statement",
                passing.len()
            ));
            return passing;
        }
        // Rows that were there may have been written once more.
        if u64::try_from(fresh.len()).is_ok_and(|count| count == rows) {
            fresh
        } else {
            passing
        }
    }

    /// Those of the messages that have not passed such an end.
    fn without(
        &self,
        passing: &[Option<MessageName>],
        such: impl Fn(&StageName) -> bool,
    ) -> Vec<Option<MessageName>> {
        let state = self.state();
        let ended = |message: &MessageName| {
            let mut ends = state.ended.iter();
            ends.any(|(end, ended)| ended == message && such(end))
        };
        passing
            .iter()
            .filter(|message| !message.as_ref().is_some_and(ended))
            .cloned()
            .collect()
    }

    /// Ends that a block of code may have made, of which no wire tells. Where a claim counts
    /// them, a difference would convict somebody of what was not seen.
    pub(super) fn doubt_hidden(&self, call: &Call, reply: &Reply) {
        for stage in stage::hidden(&self.0.manifest, call, reply) {
            if self.0.manifest.is_end(&stage) && self.0.manifest.is_claimed(&stage) {
                self.doubt_once(&format!(
                    "a DO block names what the stage `{stage}` waits for, and no wire tells \
                     whether it did it: have the statement executed by itself, or bind the \
                     stage to one that is"
                ));
            }
        }
    }
}

fn untold(stage: &StageName, sql: &str) -> String {
    let mut shown: String = sql.chars().take(120).collect();
    if shown.len() < sql.len() {
        shown.push('…');
    }
    format!(
        "the stage `{stage}` ends messages, and nothing tells which rows `{shown}` wrote, or \
         whether it wrote any: put a `claim` behind a total that counts the stage, or bind it \
         to a statement that writes by itself"
    )
}
