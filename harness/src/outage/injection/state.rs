//! The outages of a rehearsal and how far each has come.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use super::RealServer;
use crate::ids::{
    CallId, ConnectionId, DependencyName, FaultId, Incarnation, MessageName, StageName,
};
use crate::outage::{Moment, Outage, Way};
use crate::tap::{Call, Line};

#[derive(Default)]
pub(super) struct State {
    pub(super) entries: Vec<Entry>,
    pub(super) lines: BTreeMap<(Incarnation, DependencyName), (SocketAddr, Line)>,
    pub(super) servers: BTreeMap<DependencyName, Arc<dyn RealServer>>,
    /// Declared messages, in their order.
    pub(super) declared: Vec<MessageName>,
    /// Whether the system is ready: the clocks of outages run.
    pub(super) running: bool,
    /// Calls that were made on each connection.
    pub(super) calls: BTreeMap<ConnectionId, u64>,
    /// Calls whose reply an outage treats.
    pub(super) marked: BTreeMap<CallId, FaultId>,
}

pub(super) struct Entry {
    pub(super) id: FaultId,
    pub(super) outage: Outage,
    pub(super) phase: Phase,
    /// How often its next moment was passed.
    pub(super) passed: u32,
    /// The phase whose time is being counted.
    pub(super) clock: Option<Phase>,
    /// How many calls it treated.
    pub(super) treated: u32,
    pub(super) landed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    On,
    Over,
}

impl Entry {
    pub(super) fn concerns(
        &self,
        call: &Call,
        author: &Incarnation,
        messages: &BTreeSet<MessageName>,
        declared: &[MessageName],
    ) -> bool {
        let Outage {
            dependency,
            way,
            part,
            ..
        } = &self.outage;
        self.phase == Phase::On
            && *dependency == call.dependency
            && part.is_of(author)
            && part.describes(call)
            && way.concerns(call)
            && (part.messages.is_empty() || messages.iter().any(|one| part.messages.contains(one)))
            && part.one_in.is_none_or(|count| {
                messages.iter().any(|message| {
                    let place = declared.iter().position(|known| known == message);
                    place.is_some_and(|place| (place + 1) % (count.max(1) as usize) == 0)
                })
            })
    }
}

impl State {
    pub(super) fn entry(&mut self, id: FaultId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }

    /// Tells every line whether it is to refuse.
    pub(super) fn want_lines(&self) -> Vec<(Line, bool)> {
        self.lines
            .iter()
            .map(|((incarnation, dependency), (_, line))| {
                let refused = self.entries.iter().any(|entry| {
                    entry.phase == Phase::On
                        && entry.outage.way == Way::Refuses
                        && entry.outage.part.is_whole()
                        && entry.outage.dependency == *dependency
                        && entry.outage.part.is_of(incarnation)
                });
                line.want(refused);
                (line.clone(), refused)
            })
            .collect()
    }

    pub(super) fn lines_of(&self, outage: &Outage) -> Vec<(SocketAddr, Line)> {
        self.lines
            .iter()
            .filter(|((incarnation, dependency), _)| {
                *dependency == outage.dependency && outage.part.is_of(incarnation)
            })
            .map(|(_, line)| line.clone())
            .collect()
    }

    /// Counts a passage; gives what is due, and what a total may make due.
    #[expect(
        clippy::type_complexity,
        reason = "two lists that one caller takes apart"
    )]
    pub(super) fn pass(
        &mut self,
        stage: &StageName,
        message: Option<&MessageName>,
        passer: &Incarnation,
        late: bool,
    ) -> (Vec<(FaultId, Phase)>, Vec<(FaultId, Phase, Moment)>) {
        let (mut due, mut totals) = (Vec::new(), Vec::new());
        for entry in &mut self.entries {
            let moments: Vec<Moment> = match entry.phase {
                Phase::Waiting => entry.outage.from.iter().cloned().collect(),
                Phase::On => entry.outage.until.clone(),
                Phase::Over => continue,
            };
            for moment in moments {
                // Whatever asks for anybody's passage has counted it already.
                let counted = late && moment.is_anybodys();
                if !counted && moment.counts(stage, message) {
                    entry.passed += 1;
                    if let Moment::Passed { times, .. } = &moment
                        && entry.passed >= *times
                    {
                        if entry.phase == Phase::Waiting && entry.outage.part.of_passer {
                            let of = (passer.role.clone(), Some(passer.instance));
                            entry.outage.part.of = Some(of);
                        }
                        due.push((entry.id, entry.phase));
                    }
                }
                if matches!(moment, Moment::Total { .. }) {
                    totals.push((entry.id, entry.phase, moment));
                }
            }
        }
        (due, totals)
    }
}
