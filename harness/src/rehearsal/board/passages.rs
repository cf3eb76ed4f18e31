//! Passages of stages: whose message it was, and which faults they trigger.

use std::collections::BTreeSet;

use super::Board;
use crate::checkpoint::Announcement;
use crate::fault::Effect;
use crate::history::Event;
use crate::ids::{FaultId, MessageName};
use crate::stage::{self, Passage, Subject};
use crate::tap::{Call, HttpRequest};

impl Board {
    /// The messages of a passage. Ids that mean nothing yet are waited for while a
    /// submission is under way: its answer may be on its way.
    pub(super) async fn attribute(&self, call: &Call, subject: &Subject) -> BTreeSet<MessageName> {
        let found = self
            .until(|| {
                let state = self.state();
                let messages = state.aliases.of_subject(subject);
                let nothing_to_find = subject.ids.is_empty() && subject.inherited.is_empty();
                (!messages.is_empty() || nothing_to_find || state.submitting.is_empty())
                    .then_some(messages)
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

    /// Records the passages of a call and finds the faults that they trigger.
    pub(super) async fn pass(&self, call: &Call, passages: Vec<Passage>) -> Vec<(FaultId, Effect)> {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return Vec::new();
        };
        let mut triggered = Vec::new();
        for passage in passages {
            for subject in &passage.subjects {
                let messages = self.attribute(call, subject).await;
                let passed: Vec<Option<MessageName>> = if messages.is_empty() {
                    vec![None]
                } else {
                    messages.into_iter().map(Some).collect()
                };
                for message in passed {
                    let seq = self.0.history.append(Event::Stage {
                        stage: passage.stage.clone(),
                        incarnation: incarnation.clone(),
                        call: call.id,
                        message: message.clone(),
                        captured: subject.captured.clone(),
                    });
                    if message.is_some() {
                        self.state().effects.insert(call.author.clone(), seq);
                    }
                    triggered.extend(self.trigger(call, &passage.stage, message.as_ref()));
                }
            }
        }
        triggered
    }

    pub(super) fn checkpoint(&self, call: &Call, request: &HttpRequest) -> Vec<Passage> {
        let announcement = Announcement::read(request);
        let Some(incarnation) = call.author.incarnation() else {
            return Vec::new();
        };
        let Some(stage) = stage::announced(&self.0.manifest, incarnation, &announcement.stage)
        else {
            return Vec::new();
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
        vec![Passage {
            stage: stage.clone(),
            subjects,
        }]
    }

    pub(super) async fn note_passages(&self, call: &Call, passages: Vec<Passage>) {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return;
        };
        for passage in passages {
            for subject in &passage.subjects {
                let messages = self.attribute(call, subject).await;
                let passed: Vec<Option<MessageName>> = if messages.is_empty() {
                    vec![None]
                } else {
                    messages.into_iter().map(Some).collect()
                };
                for message in passed {
                    self.0.history.append(Event::Stage {
                        stage: passage.stage.clone(),
                        incarnation: incarnation.clone(),
                        call: call.id,
                        message,
                        captured: subject.captured.clone(),
                    });
                }
            }
        }
    }
}
