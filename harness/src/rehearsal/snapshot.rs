//! All figures, counted once when everything is quiet: what the harness witnessed
//! beside what the system says.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::ids::MessageName;
use crate::judge::{
    Account, COPIES, Evidence, Figure, Ledger, count, count_each, performed_writes, repeated_writes,
};
use crate::manifest::Total;
use crate::manifest::built_in_totals::{
    DEAD_LETTERS, LEFT_IN_QUEUE, OUTSIDE_REPETITIONS, OUTSIDE_REQUESTS,
};

/// All totals at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// By total; by label within, where it is split (the empty label otherwise).
    pub totals: BTreeMap<String, Figure>,
}

impl Snapshot {
    /// One total: the sum over its labels, or the figure of one label.
    pub fn total(&self, name: &str, label: Option<&str>) -> i64 {
        let Some(figure) = self.totals.get(name) else {
            return 0;
        };
        match label {
            Some(label) => figure.get(label).copied().unwrap_or_default(),
            None => figure.values().sum(),
        }
    }
}

impl Rehearsal {
    /// The snapshot of the present moment: waits until everything is quiet and counts,
    /// unless nothing happened since the last one.
    ///
    /// # Errors
    /// When it cannot be counted. The inner error says that it did not become quiet.
    pub async fn snapshot(&mut self) -> Result<Result<Snapshot, super::Unrest>, RehearsalError> {
        if let Some((at, snapshot)) = &self.snapshot
            && self.unchanged_since(*at)
        {
            return Ok(Ok(snapshot.clone()));
        }
        if let Err(not_quiet) = self.quiet().await? {
            return Ok(Err(not_quiet));
        }
        let snapshot = self.take_snapshot().await?;
        self.snapshot = Some((self.board.history().last(), snapshot.clone()));
        Ok(Ok(snapshot))
    }

    /// Whether nothing but questions of timers stands in the history since then.
    pub(super) fn unchanged_since(&self, at: u64) -> bool {
        self.board.history().read(|entries| {
            entries
                .iter()
                .rev()
                .take_while(|entry| entry.seq > at)
                .all(|entry| {
                    matches!(
                        entry.event,
                        Event::Called { .. }
                            | Event::Receiving { .. }
                            | Event::Replied { .. }
                            | Event::Step { .. }
                            | Event::Connected { .. }
                            | Event::Disconnected { .. }
                    )
                })
        })
    }

    async fn take_snapshot(&mut self) -> Result<Snapshot, RehearsalError> {
        let mut snapshot = Snapshot::default();
        let manifest = Arc::clone(&self.manifest);
        for (name, total) in &manifest.totals {
            let figure = self.count_total(name, total).await?;
            snapshot.totals.insert(name.clone(), figure);
        }
        let (left, dead) = self.count_queues().await?;
        let outside = self.evidence(performed_writes);
        for (name, value) in [
            (LEFT_IN_QUEUE, left),
            (DEAD_LETTERS, dead),
            (OUTSIDE_REQUESTS, outside),
        ] {
            snapshot
                .totals
                .insert(name.to_owned(), Figure::from([(String::new(), value)]));
        }
        self.note_exhausted().await?;
        self.note_observed().await?;
        if self.honours_keys() {
            let repetitions = Figure::from([(String::new(), self.evidence(repeated_writes))]);
            let name = OUTSIDE_REPETITIONS.to_owned();
            snapshot.totals.insert(name, repetitions);
        }
        Ok(snapshot)
    }

    /// Whether some service that the harness plays may honour idempotency keys.
    fn honours_keys(&self) -> bool {
        let mut dependencies = self.manifest.dependencies.values();
        dependencies.any(|dependency| {
            let mut routes = dependency.routes().iter();
            routes.any(|route| route.key_header.is_some())
        })
    }

    async fn count_total(&self, name: &str, total: &Total) -> Result<Figure, RehearsalError> {
        let witnessed = total
            .witness
            .as_ref()
            .map(|witness| self.evidence(|evidence| count(evidence, witness)));
        self.note_figure(name, total, "witness", witnessed.as_ref());
        let claimed = match &total.claim {
            Some(claim) => Some(
                self.dependencies
                    .figure(&claim.dependency, &claim.query, None)
                    .await?,
            ),
            None => None,
        };
        self.note_figure(name, total, "claim", claimed.as_ref());
        Ok(witnessed.or(claimed).unwrap_or_default())
    }

    fn note_figure(&self, name: &str, total: &Total, source: &str, figure: Option<&Figure>) {
        for (label, value) in figure.into_iter().flatten() {
            self.note(name, label, source, *value);
            self.check_label(name, total, label);
        }
    }

    /// A label that the manifest does not list is missing in every comparison.
    fn check_label(&self, name: &str, total: &Total, label: &str) {
        if label.is_empty() || total.labels.iter().any(|known| known == label) {
            return;
        }
        self.board.doubt_once(&format!(
            "`{name}` has a figure for `{label}`, which `labels` of this total in the manifest does not list"
        ));
    }

    fn note(&self, total: &str, label: &str, source: &str, value: i64) {
        self.board.history().append(Event::Counted {
            total: total.to_owned(),
            label: (!label.is_empty()).then(|| label.to_owned()),
            source: source.to_owned(),
            value,
        });
    }

    /// What source queues and dead-letter queues hold; together with what the history
    /// says must be there.
    async fn count_queues(&self) -> Result<(i64, i64), RehearsalError> {
        let (mut left, mut dead) = (0, 0);
        for (name, dependency) in &self.manifest.dependencies {
            for queue in dependency.protocol.queues() {
                let counts = self.dependencies.counts(name, queue).await?;
                if dependency.protocol.is_dead_letter(queue) {
                    dead += counts.all();
                } else {
                    left += counts.all();
                }
            }
        }
        // Where nobody can tell whether a deletion took place, the queues say.
        let (least, most) = self.ledger(Ledger::copies_left);
        let held = left + dead;
        self.note(COPIES, "", "witness", held.clamp(least, most));
        self.note(COPIES, "", "claim", held);
        self.note(LEFT_IN_QUEUE, "", "claim", left);
        self.note(DEAD_LETTERS, "", "claim", dead);
        Ok((left, dead))
    }

    /// A total of each of these messages, by its witness; none if it has none.
    pub fn total_of_each(&self, name: &str, messages: &[MessageName]) -> Option<Vec<i64>> {
        let of_account = |look: fn(&Account) -> usize| {
            self.ledger(|ledger| {
                let figure = |message| ledger.accounts.get(message).map_or(0, look);
                let figures = messages.iter().map(figure);
                figures
                    .map(|figure| i64::try_from(figure).unwrap_or(i64::MAX))
                    .collect()
            })
        };
        match name {
            OUTSIDE_REQUESTS => return Some(of_account(|account| account.writes.len())),
            OUTSIDE_REPETITIONS => return Some(of_account(|account| account.repetitions.len())),
            _ => {}
        }
        let witness = self.manifest.totals.get(name)?.witness.as_ref()?;
        let each = self.evidence(|evidence| count_each(evidence, witness));
        let figure = |message| each.get(message).map_or(0, |figure| figure.values().sum());
        Some(messages.iter().map(figure).collect())
    }

    /// Looks at the ledger of all that happened so far.
    pub fn ledger<T>(&self, look: impl FnOnce(&Ledger) -> T) -> T {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        self.evidence(|evidence| ledger.catch_up(evidence));
        look(&ledger)
    }

    /// What the queue delivered of a message, the first time.
    pub fn delivered_body(&self, message: &MessageName) -> Option<String> {
        self.board.delivered_body(message)
    }

    pub(super) fn evidence<T>(&self, look: impl FnOnce(Evidence<'_>) -> T) -> T {
        let manifest = &*self.manifest;
        self.board
            .history()
            .read(|entries| look(Evidence { manifest, entries }))
    }
}
