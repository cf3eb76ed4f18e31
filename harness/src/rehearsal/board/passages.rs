//! Passages of stages: whose message it was, and which faults they trigger.

use std::collections::BTreeSet;

use super::Board;
use super::faults::{Place, Triggered};
use crate::checkpoint::Announcement;
use crate::history::Event;
use crate::ids::{Incarnation, MessageName, StageName};
use crate::manifest::Stage;
use crate::stage::{self, JOB, Passage, Subject};
use crate::tap::{Call, HttpRequest};

impl Board {
    /// The messages of a passage. Ids that mean nothing yet are waited for while a
    /// submission is under way: its answer may be on its way, unless it waits for this
    /// very call.
    pub(super) async fn attribute(&self, call: &Call, subject: &Subject) -> BTreeSet<MessageName> {
        let may_wait = self.may_await_submissions(&call.author);
        let under_way = self.under_way();
        let found = self
            .until(|| {
                let state = self.state();
                let messages = state.aliases.of_subject(subject);
                let something_to_find = !(subject.ids.is_empty() && subject.inherited.is_empty());
                let waits =
                    may_wait && messages.is_empty() && something_to_find && under_way.lasts(&state);
                (!waits).then_some(messages)
            })
            .await;
        if found.is_empty() {
            self.state()
                .sole_in_hand(&call.author)
                .into_iter()
                .collect()
        } else {
            found
        }
    }

    /// Records the passages of a call; finds the faults that act where they are bound.
    pub(super) async fn pass(&self, call: &Call, passages: Vec<Passage>) -> Vec<Triggered> {
        let mut triggered = Vec::new();
        for (passage, message) in self.note_passages(call, passages).await {
            let place = Place::Stage(&passage);
            triggered.extend(self.trigger(call, place, None, message.as_ref()));
        }
        triggered
    }

    /// The passages that an announcement means, or why it means none.
    pub(super) fn checkpoint(
        &self,
        call: &Call,
        request: &HttpRequest,
    ) -> Result<Vec<Passage>, String> {
        let announcement = Announcement::read(request);
        let Some(incarnation) = call.author.incarnation() else {
            return Ok(Vec::new());
        };
        let manifest = &self.0.manifest;
        let Some(stage) = stage::announced(manifest, incarnation, &announcement.stage) else {
            let role = &incarnation.role;
            return Err(stage::unannounced(manifest, role, &announcement.stage));
        };
        let ids = announcement
            .job
            .into_iter()
            .chain(announcement.message_id)
            .collect();
        let subjects = vec![Subject {
            ids,
            ..Subject::default()
        }];
        Ok(vec![Passage {
            stage: stage.clone(),
            subjects,
        }])
    }

    /// A doubt that is said once, however often it comes up.
    pub(in crate::rehearsal) fn doubt_once(&self, reason: &str) {
        if self.state().doubted.insert(reason.to_owned()) {
            self.doubt(reason.to_owned());
        }
    }

    /// Something that must not be guessed makes the verdict an error.
    pub(in crate::rehearsal) fn doubt(&self, reason: String) {
        self.0.history.append(Event::Doubt { reason });
    }

    /// Records the passages of a call, one for each message.
    pub(super) async fn note_passages(
        &self,
        call: &Call,
        passages: Vec<Passage>,
    ) -> Vec<(StageName, Option<MessageName>)> {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return Vec::new();
        };
        let mut noted = Vec::new();
        for passage in passages {
            for subject in &passage.subjects {
                let passing = self.passing(call, &passage.stage, subject).await;
                for message in self.written(&passage.stage, subject, passing) {
                    if let (Some(job), Some(message)) = (subject.captured.get(JOB), &message) {
                        self.learn_alias(job, message);
                    }
                    let seq = self.0.history.append(Event::Stage {
                        stage: passage.stage.clone(),
                        incarnation: incarnation.clone(),
                        call: call.id,
                        message: message.clone(),
                        captured: subject.captured.clone(),
                    });
                    if message.is_some() {
                        self.state().effects.note(&call.author, seq);
                    }
                    self.note_stop(&passage.stage, &incarnation, subject);
                    let outages = &self.0.outages;
                    outages
                        .passed(&passage.stage, message.as_ref(), &incarnation)
                        .await;
                    noted.push((passage.stage.clone(), message));
                }
            }
        }
        noted
    }

    /// Consumption may just have stopped.
    fn note_stop(&self, stage: &StageName, by: &Incarnation, subject: &Subject) {
        let consumption = self.0.manifest.consumption.as_ref();
        if consumption.and_then(|consumption| consumption.stopped.as_ref()) != Some(stage) {
            return;
        }
        let why: Vec<&str> = subject.captured.values().map(String::as_str).collect();
        let stop = format!("{by} stopped consumption ({})", why.join(", "));
        self.state().stop.get_or_insert(stop);
    }

    /// Who stopped consumption first, and why.
    pub(in crate::rehearsal) fn stop(&self) -> Option<String> {
        self.state().stop.clone()
    }

    /// Whose passage it is: one for each message, or one of nobody.
    pub(super) async fn passing(
        &self,
        call: &Call,
        stage: &StageName,
        subject: &Subject,
    ) -> Vec<Option<MessageName>> {
        let stage = self.0.manifest.stages.get(stage);
        if stage.is_some_and(Stage::is_nobodys) {
            return vec![None];
        }
        let messages = self.attribute(call, subject).await;
        if messages.is_empty() {
            vec![None]
        } else {
            messages.into_iter().map(Some).collect()
        }
    }

    /// From now on this id means that message, whoever was told.
    fn learn_alias(&self, id: &str, message: &MessageName) {
        if self.state().aliases.learn(id, message) {
            self.0.history.append(Event::Alias {
                id: id.to_owned(),
                message: message.clone(),
            });
        }
    }
}
