//! Passages of stages: whose message it was, and which faults they trigger.

use std::collections::BTreeSet;

use super::Board;
use super::faults::{Place, Triggered};
use super::unclear::{self, About, Strike, Whom};
use crate::checkpoint::Announcement;
use crate::history::Event;
use crate::ids::{Incarnation, MessageName, StageName};
use crate::manifest::Stage;
use crate::stage::{self, Effect, JOB, Passage, Subject};
use crate::tap::{Call, HttpRequest, Side};

impl Board {
    /// Records the passages of a call; finds the faults that act where they are bound.
    pub(super) async fn pass(&self, call: &Call, passages: Vec<Passage>) -> Vec<Triggered> {
        let mut triggered = Vec::new();
        for noted in self.note_passages(call, passages).await {
            let place = Place::Stage(&noted.stage);
            triggered.extend(self.trigger_for(call, place, None, noted.whose));
        }
        triggered
    }

    /// Finds the faults that a passage triggers, also where it can only be told later whose
    /// it is.
    pub(super) fn trigger_for(
        &self,
        call: &Call,
        place: Place<'_>,
        side: Option<Side>,
        whose: Whose,
    ) -> Vec<Triggered> {
        let Whose {
            message,
            presumed,
            open,
        } = whose;
        let Some(open) = open else {
            return self.trigger(call, place, side, message.as_ref(), None);
        };
        let message = message.or_else(|| self.cleared(open));
        let is_presumed = message.is_none();
        if let Some(message) = message.or(presumed) {
            let triggered = self.trigger(call, place, side, Some(&message), None);
            let strikes = self.aimed(&triggered).into_iter().map(|fault| Strike {
                fault,
                at: unclear::at(place, call.id),
                taken_for: message.clone(),
                presumed: is_presumed,
            });
            self.note_strikes(open, strikes.collect());
            return triggered;
        }
        let mut waiting = Vec::new();
        let triggered = self.trigger(call, place, side, None, Some(&mut waiting));
        self.note_waiting(open, waiting);
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
    pub(super) async fn note_passages(&self, call: &Call, passages: Vec<Passage>) -> Vec<Noted> {
        let Some(incarnation) = call.author.incarnation().cloned() else {
            return Vec::new();
        };
        let mut noted = Vec::new();
        for passage in passages {
            for subject in &passage.subjects {
                let all = self.note_passage(call, &passage.stage, subject, &incarnation);
                for one in all {
                    let whose = &one.whose;
                    let message = whose.message.as_ref().or(whose.presumed.as_ref());
                    let outages = &self.0.outages;
                    outages.passed(&one.stage, message, &incarnation).await;
                    noted.push(one);
                }
            }
        }
        noted
    }

    fn note_passage(
        &self,
        call: &Call,
        stage: &StageName,
        subject: &Subject,
        incarnation: &Incarnation,
    ) -> Vec<Noted> {
        let Whom {
            messages,
            presumed,
            open,
        } = self.passing(call, stage, subject);
        let mut noted = Vec::new();
        let mut entries = Vec::new();
        for message in self.written(stage, subject, one_or_nobody(messages)) {
            if let (Some(job), Some(message)) = (subject.captured.get(JOB), &message) {
                self.learn_alias(job, message);
            }
            self.make(call, stage, subject, message.as_ref());
            let seq = self.0.history.append(Event::Stage {
                stage: stage.clone(),
                incarnation: incarnation.clone(),
                call: call.id,
                message: message.clone(),
                captured: subject.captured.clone(),
            });
            if message.is_some() {
                self.state().effects.note(&call.author, seq);
            }
            self.note_stop(stage, incarnation, subject);
            entries.push(seq);
            noted.push(Noted {
                stage: stage.clone(),
                whose: Whose {
                    message,
                    presumed: presumed.clone(),
                    open: None,
                },
            });
        }
        if let Some(open) = open {
            let more = self.reserve(call, stage, incarnation, subject, &open);
            let first = open
                .is_guessed()
                .then(|| entries.first().copied())
                .flatten();
            let whom = noted.iter().filter_map(|one| one.whose.message.clone());
            let whom: BTreeSet<MessageName> = whom.collect();
            let about = About::Passage {
                stage: stage.clone(),
                incarnation: incarnation.clone(),
                untold: matches!(subject.effect, Effect::Untold(_)),
                job: subject.captured.get(JOB).cloned(),
                told: whom.first().cloned().or(presumed),
            };
            let entries = first.into_iter().chain(more);
            let number = self.keep_open(open, &whom, entries, about);
            for one in &mut noted {
                one.whose.open = Some(number);
            }
        }
        noted
    }

    /// The system may make a message of its own here.
    fn make(
        &self,
        call: &Call,
        stage: &StageName,
        subject: &Subject,
        parent: Option<&MessageName>,
    ) {
        let makes = self.0.manifest.stages.get(stage);
        let makes = makes.and_then(|stage| stage.makes.as_ref());
        let Some(job) = makes.and_then(|name| subject.captured.get(name)) else {
            return;
        };
        let mut known = self.state();
        if known.aliases.get(job).is_some() {
            return;
        }
        let of = parent.map_or("made", MessageName::as_str).to_owned();
        let number = known.made.entry(of.clone()).or_default();
        *number += 1;
        let message = MessageName::new(format!("{of}.{number}"));
        self.0.history.append(Event::Made {
            message: message.clone(),
            parent: parent.cloned(),
            job: job.clone(),
            stage: stage.clone(),
            call: call.id,
        });
        known.learn(job, &message);
        self.clear(&mut known);
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

    /// Whose passage it is.
    pub(super) fn passing(&self, call: &Call, stage: &StageName, subject: &Subject) -> Whom {
        let stage = self.0.manifest.stages.get(stage);
        if stage.is_some_and(Stage::is_nobodys) {
            return Whom::nobody();
        }
        self.whom(call, subject)
    }

    /// From now on this id means that message, whoever was told.
    pub(super) fn learn_alias(&self, id: &str, message: &MessageName) {
        let mut state = self.state();
        if state.learn(id, message) {
            self.0.history.append(Event::Alias {
                id: id.to_owned(),
                message: message.clone(),
            });
            self.clear(&mut state);
        }
    }
}

/// A passage that was recorded.
#[derive(Debug)]
pub(super) struct Noted {
    stage: StageName,
    whose: Whose,
}

/// Whose one passage is.
#[derive(Debug)]
pub(super) struct Whose {
    pub(super) message: Option<MessageName>,
    /// Whose it can only be.
    pub(super) presumed: Option<MessageName>,
    /// By which it is told later.
    pub(super) open: Option<u64>,
}

/// One passage for each message, or one of nobody.
pub(super) fn one_or_nobody(messages: BTreeSet<MessageName>) -> Vec<Option<MessageName>> {
    if messages.is_empty() {
        vec![None]
    } else {
        messages.into_iter().map(Some).collect()
    }
}
