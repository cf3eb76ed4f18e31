//! Attempts in the present series of each message, as far as they were seen: read entry by
//! entry, so that a question at any place of a history costs no second look at it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Evidence, work};
use crate::history::{Entry, Event};
use crate::ids::{Author, CallId, DependencyName, MessageName, RoleName, StageName};
use crate::manifest::{Binding, Exhausted, Manifest, Witness};
use crate::tap::{Extent, Side};

/// The messages that ended at the limit of their attempts in their present series, and
/// where. An end with another label is another end.
pub fn exhausted(evidence: Evidence<'_>) -> BTreeMap<MessageName, u64> {
    let mut attempts = Attempts::new(evidence.manifest);
    for entry in evidence.entries {
        attempts.feed(entry);
    }
    attempts
        .of
        .into_iter()
        .filter_map(|(message, series)| Some((message, series.exhausted?)))
        .collect()
}

/// What was seen of attempts up to a place in a history.
pub(super) struct Attempts<'m> {
    manifest: &'m Manifest,
    exhausted: Option<&'m Exhausted>,
    witness: Option<&'m Witness>,
    /// Whose answered calls to what may be the start of an attempt.
    starting: BTreeSet<(&'m RoleName, &'m DependencyName)>,
    of: BTreeMap<MessageName, Series>,
    /// Calls that may have arrived and were never answered: by themselves, and their
    /// places in order.
    open: HashMap<CallId, u64>,
    open_at: Vec<u64>,
    /// Starts of nobody known, in order.
    of_nobody: Vec<u64>,
}

/// The present series of a message.
#[derive(Default)]
struct Series {
    /// Where it began; none: nobody saw it begin.
    began: Option<u64>,
    /// Where it ended at the limit.
    exhausted: Option<u64>,
    /// The starts, as the witness counts them.
    started: i64,
    labels: BTreeSet<Option<String>>,
}

impl<'m> Attempts<'m> {
    pub(super) fn new(manifest: &'m Manifest) -> Self {
        let witness = manifest.attempts_witness();
        let attempts = manifest.attempts.as_ref();
        let starting = witness
            .into_iter()
            .flat_map(|witness| &witness.add)
            .filter_map(|stage| manifest.stages.get(stage))
            .filter_map(|stage| match &stage.binding {
                Binding::Boundary {
                    side: Side::After,
                    dependency,
                    ..
                } => Some((stage, dependency)),
                _ => None,
            })
            .flat_map(|(stage, dependency)| stage.roles.iter().map(move |role| (role, dependency)))
            .collect();
        Self {
            manifest,
            exhausted: attempts.and_then(|attempts| attempts.exhausted.as_ref()),
            witness,
            starting,
            of: BTreeMap::new(),
            open: HashMap::new(),
            open_at: Vec::new(),
            of_nobody: Vec::new(),
        }
    }

    pub(super) fn feed(&mut self, entry: &Entry) {
        work::note();
        let seq = entry.seq;
        match &entry.event {
            Event::Submitting { message } => {
                let series = self.of_mut(message);
                if series.began.is_none() {
                    series.begin_first(seq);
                }
            }
            Event::Called {
                call,
                author,
                dependency,
                ..
            } if self.may_start(author, dependency) => {
                self.open.insert(*call, seq);
                self.open_at.push(seq);
            }
            Event::Replied { call, .. }
            | Event::NotForwarded {
                call,
                extent: Extent::Nothing,
            }
            | Event::Injected {
                call,
                side: Side::Before,
                ..
            } => self.close(*call),
            Event::Stage {
                stage,
                message: None,
                ..
            } if self.starts(stage) => self.of_nobody.push(seq),
            Event::Stage {
                stage,
                message: Some(message),
                captured,
                ..
            } => self.passed(seq, stage, message, captured),
            _ => {}
        }
    }

    fn passed(
        &mut self,
        seq: u64,
        stage: &StageName,
        message: &MessageName,
        captured: &BTreeMap<String, String>,
    ) {
        let replayed = self.manifest.replay.as_ref() == Some(stage);
        let ends = self.exhausted.is_some_and(|exhausted| {
            let end = self.manifest.terminal.get(&exhausted.end);
            let labelled = exhausted.label.as_ref();
            end.is_some_and(|end| end.stage == *stage)
                && labelled.is_none_or(|(by, label)| captured.get(by) == Some(label))
        });
        let step = self.witness.map_or(0, |witness| witness.step(stage));
        if !replayed && !ends && step == 0 {
            return;
        }
        let witness = self.witness;
        let series = self.of_mut(message);
        if replayed {
            series.begin_again(seq);
        }
        if ends {
            series.exhausted.get_or_insert(seq);
        }
        if step != 0
            && let Some(witness) = witness
        {
            let label = witness.by.as_ref().map(|by| captured.get(by).cloned());
            if !witness.distinct || series.labels.insert(label.flatten()) {
                series.started += step;
            }
        }
    }

    /// Where a message ended at the limit of its attempts.
    pub(super) fn exhausted_at(&self, message: &MessageName) -> Option<u64> {
        self.of.get(message)?.exhausted
    }

    /// The attempts of a message that were seen to start, and those that may have started
    /// unseen, or were seen and not known by whom.
    pub(super) fn started(&self, message: &MessageName) -> Option<(i64, i64)> {
        self.witness?;
        let series = self.of.get(message)?;
        let since = |places: &[u64]| {
            let before = places.partition_point(|at| Some(*at) < series.began);
            i64::try_from(places.len() - before).unwrap_or(i64::MAX)
        };
        let unseen = since(&self.open_at).saturating_add(since(&self.of_nobody));
        Some((series.started, unseen))
    }

    fn may_start(&self, author: &Author, dependency: &DependencyName) -> bool {
        let by = author.incarnation().map(|incarnation| &incarnation.role);
        by.is_some_and(|role| self.starting.contains(&(role, dependency)))
    }

    fn starts(&self, stage: &StageName) -> bool {
        self.witness
            .is_some_and(|witness| witness.add.contains(stage))
    }

    fn close(&mut self, call: CallId) {
        if let Some(at) = self.open.remove(&call)
            && let Ok(place) = self.open_at.binary_search(&at)
        {
            self.open_at.remove(place);
        }
    }

    fn of_mut(&mut self, message: &MessageName) -> &mut Series {
        self.of.entry(message.clone()).or_default()
    }
}

impl Series {
    /// Its message was submitted. An end before that is an end of it all the same; a start
    /// is not.
    fn begin_first(&mut self, at: u64) {
        self.began = Some(at);
        self.started = 0;
        self.labels.clear();
    }

    /// Its message was put back.
    fn begin_again(&mut self, at: u64) {
        if self.began.is_some() {
            self.exhausted = None;
        }
        self.begin_first(at);
    }
}
