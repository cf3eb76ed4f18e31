//! The ledger: the accounts of all messages, fed entry by entry, so that a history that
//! grows is never read again from its beginning.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::names::Names;
use super::{Account, Deletion, Evidence, work};
use crate::history::{Entry, Event};
use crate::ids::{CallId, MessageName, StageName};
use crate::manifest::Manifest;

/// The accounts of all declared messages.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By name.
    pub accounts: BTreeMap<MessageName, Account>,
    /// Writes that an outside service performed for no message: where, and the job's id
    /// as it stood in the request. What is for a group, or for nobody by a stage of the fleet,
    /// is none of them.
    pub strange_writes: BTreeSet<(u64, Option<String>)>,
    /// The last entry that was read.
    read: u64,
    names: Names,
    /// All copies that a queue took or handed over, foreign ones too.
    copies: HashMap<String, Copy>,
    /// Copies by the ids in them that no client knows yet.
    awaited: HashMap<String, Vec<String>>,
    /// Writes and repetitions by the job that no client knows yet.
    unclaimed: HashMap<String, Vec<(u64, Write)>>,
    /// Receipts that are no longer in force: outdated, expired or given back.
    over: HashSet<String>,
    /// Where calls to queues began.
    began: HashMap<CallId, u64>,
}

/// A copy of a message.
#[derive(Clone, Debug, Default)]
struct Copy {
    /// Whether it was deleted.
    deleted: bool,
    /// Where its latest delivery stands, and by which receipt.
    latest: Option<(u64, String)>,
    /// Whether it may be another way: its deletion was asked for by a receipt that was no
    /// longer in force. A queue answers that with success, whatever it does.
    undecided: bool,
    /// What happened to it before anybody knew whose it was.
    unnamed: Vec<Happened>,
}

#[derive(Clone, Debug)]
enum Happened {
    Sent(u64),
    Delivered(u64),
    Deleted(Deletion),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Write {
    Performed,
    Repeated,
}

impl Ledger {
    /// Reads a history.
    pub fn of(evidence: Evidence<'_>) -> Self {
        let mut ledger = Self::default();
        ledger.catch_up(evidence);
        ledger
    }

    /// Reads what was appended to a history since it was read last.
    pub fn catch_up(&mut self, evidence: Evidence<'_>) {
        if self.read >= evidence.last() {
            return;
        }
        // Entries that were read without their message are read again.
        let new = evidence.since(self.read);
        if self.read > 0
            && new
                .iter()
                .any(|entry| matches!(entry.event, Event::Named { .. }))
        {
            *self = Self::default();
        }
        if !self.names.are_settled() {
            self.feed_from(evidence);
        }
        // Whom an id means that was said to mean two is settled by the whole history: what
        // was entered so far may stand in the wrong account.
        if self.names.are_settled() || self.names.are_contradicted() {
            *self = Self {
                names: Names::settled(evidence),
                ..Self::default()
            };
            self.feed_from(evidence);
        }
    }

    fn feed_from(&mut self, evidence: Evidence<'_>) {
        for entry in evidence.since(self.read) {
            self.feed(evidence.manifest, entry);
        }
        self.read = evidence.last();
    }

    fn feed(&mut self, manifest: &Manifest, entry: &Entry) {
        work::note();
        let seq = entry.seq;
        match &entry.event {
            Event::Declared { message, .. } => {
                self.of_mut(message);
            }
            // A client that tries again means the same series.
            Event::Submitting { message } => {
                let series = &mut self.of_mut(message).series;
                if series.is_empty() {
                    series.push(seq);
                }
            }
            Event::Accepted { message, job } => {
                let account = self.of_mut(message);
                account.accepted.get_or_insert(seq);
                account.job = Some(job.clone());
                self.know_job(job, message);
            }
            Event::Called {
                call, dependency, ..
            } if manifest
                .dependencies
                .get(dependency)
                .is_none_or(|known| !known.protocol.queues().is_empty()) =>
            {
                self.began.insert(*call, seq);
            }
            Event::Sent {
                message_id,
                message,
                ids,
                ..
            } => {
                let named = message.as_ref().or_else(|| self.names.of_jobs(ids));
                if let Some(named) = named.cloned() {
                    self.name(message_id, &named);
                } else {
                    for id in ids {
                        let copies = self.awaited.entry(id.clone()).or_default();
                        copies.push(message_id.clone());
                    }
                }
                self.happened(message_id, Happened::Sent(seq));
            }
            Event::Delivered {
                message_id,
                message,
                receipt,
                ..
            } => {
                if let Some(named) = message {
                    self.name(message_id, named);
                }
                self.received(message_id, seq, receipt);
                self.happened(message_id, Happened::Delivered(seq));
            }
            Event::Alias { id, message } => self.name(id, message),
            Event::Deleted {
                call,
                author,
                receipt,
                message_id,
                message,
                kept,
            } if *kept != Some(true) => {
                let deletion = Deletion {
                    at: seq,
                    began: self.began.get(call).copied().unwrap_or(seq),
                    call: *call,
                    copy: message_id.clone(),
                    by: author.incarnation().cloned(),
                };
                if *kept == Some(false) || !self.is_outdated(&deletion, receipt) {
                    self.deleted(message.as_ref(), deletion);
                }
            }
            Event::Expired { receipt, .. }
            | Event::VisibilityChanged {
                receipt,
                seconds: 0,
                ..
            } => {
                self.over.insert(receipt.clone());
            }
            Event::Performed {
                dependency,
                request,
                write,
                repeated,
                message,
                job,
                others,
                group,
                ..
            } if *write || *repeated => {
                let what = match write {
                    true => Write::Performed,
                    false => Write::Repeated,
                };
                let of_nobody = job.is_none()
                    && message.is_none()
                    && (group.is_some() || manifest.is_the_fleets(dependency, request));
                if !of_nobody {
                    self.wrote(seq, what, message.as_ref(), job.as_ref());
                }
                for other in others {
                    self.wrote(seq, what, other.message.as_ref(), Some(&other.job));
                }
            }
            Event::Made { message, job, .. } => {
                let account = self.of_mut(message);
                account.series.push(seq);
                account.accepted.get_or_insert(seq);
                account.job = Some(job.clone());
                self.know_job(job, message);
            }
            Event::Stage {
                stage,
                call,
                message: Some(message),
                ..
            } => self.passed(manifest, (seq, *call), stage, message),
            _ => {}
        }
    }

    fn passed(
        &mut self,
        manifest: &Manifest,
        (seq, call): (u64, CallId),
        stage: &StageName,
        message: &MessageName,
    ) {
        let mut terminal = manifest.terminal.iter().rev();
        let end = terminal.find(|(_, by)| by.stage == *stage);
        let account = self.of_mut(message);
        if manifest.replay.as_ref() == Some(stage) {
            account.series.push(seq);
        }
        if manifest.resting.contains(stage) {
            account.rests = Some(seq);
        }
        if let Some((end, _)) = end {
            account.ends.push((seq, end.clone()));
            account.ended_at.insert(call);
        }
    }

    /// A copy that is handed over again is in its queue again, whatever was answered to a
    /// deletion before.
    fn received(&mut self, id: &str, seq: u64, receipt: &str) {
        let copy = self.copies.entry(id.to_owned()).or_default();
        copy.deleted = false;
        copy.undecided = false;
        if let Some((_, earlier)) = copy.latest.replace((seq, receipt.to_owned())) {
            self.over.insert(earlier);
        }
    }

    /// Whether a deletion came by a receipt that a later delivery had outdated when it
    /// began: nothing was deleted.
    fn is_outdated(&mut self, deletion: &Deletion, receipt: &str) -> bool {
        if !self.over.contains(receipt) {
            return false;
        }
        let copy = deletion.copy.as_ref();
        let Some(copy) = copy.and_then(|copy| self.copies.get_mut(copy)) else {
            return false;
        };
        copy.undecided = true;
        let latest = copy.latest.as_ref();
        latest.is_some_and(|(at, latest)| latest != receipt && *at < deletion.began)
    }

    fn deleted(&mut self, message: Option<&MessageName>, deletion: Deletion) {
        if let Some(copy) = &deletion.copy {
            self.copies.entry(copy.clone()).or_default().deleted = true;
        }
        match (message, deletion.copy.clone()) {
            (Some(message), _) => self
                .of_mut(message)
                .enter(None, Happened::Deleted(deletion)),
            (None, Some(copy)) => self.happened(&copy, Happened::Deleted(deletion)),
            (None, None) => {}
        }
    }

    fn wrote(
        &mut self,
        seq: u64,
        what: Write,
        message: Option<&MessageName>,
        job: Option<&String>,
    ) {
        let message = message.or_else(|| self.names.of_job(job?));
        if let Some(message) = message.cloned() {
            self.of_mut(&message).enter_write(seq, what);
            return;
        }
        if what == Write::Performed {
            self.strange_writes.insert((seq, job.cloned()));
        }
        if let Some(job) = job {
            let waiting = self.unclaimed.entry(job.clone()).or_default();
            waiting.push((seq, what));
        }
    }

    /// A client knows its job: what was done for it before is its message's.
    fn know_job(&mut self, job: &str, message: &MessageName) {
        self.names.learn_job(job, message);
        for copy in self.awaited.remove(job).unwrap_or_default() {
            self.name(&copy, message);
        }
        for (seq, what) in self.unclaimed.remove(job).unwrap_or_default() {
            self.strange_writes.remove(&(seq, Some(job.to_owned())));
            self.of_mut(message).enter_write(seq, what);
        }
    }

    fn name(&mut self, id: &str, message: &MessageName) {
        self.names.learn_copy(id, message);
        let Some(copy) = self.copies.get_mut(id) else {
            return;
        };
        for happened in std::mem::take(&mut copy.unnamed) {
            self.of_mut(message).enter(Some(id), happened);
        }
    }

    fn happened(&mut self, id: &str, happened: Happened) {
        let copy = self.copies.entry(id.to_owned()).or_default();
        match self.names.of_copy(id).cloned() {
            Some(message) => self.of_mut(&message).enter(Some(id), happened),
            None => copy.unnamed.push(happened),
        }
    }

    /// How many copies queues must still hold: at least, and at most.
    pub fn copies_left(&self) -> (i64, i64) {
        let count = |holds: fn(&Copy) -> bool| {
            let copies = self.copies.values().filter(|copy| holds(copy));
            i64::try_from(copies.count()).unwrap_or(i64::MAX)
        };
        (
            count(|copy| !copy.deleted && !copy.undecided),
            count(|copy| !copy.deleted || copy.undecided),
        )
    }

    fn of_mut(&mut self, message: &MessageName) -> &mut Account {
        self.accounts.entry(message.clone()).or_default()
    }

    /// Messages with this end in their last series.
    pub fn ended(&self, end: &str) -> BTreeSet<&MessageName> {
        self.accounts
            .iter()
            .filter(|(_, account)| {
                account.ends.last().is_some_and(|(seq, last)| {
                    last == end && account.series_at(*seq) + 1 == account.series.len().max(1)
                })
            })
            .map(|(message, _)| message)
            .collect()
    }
}

impl Account {
    /// Enters what happened to a copy, at its place: it may have become known late.
    fn enter(&mut self, copy: Option<&str>, happened: Happened) {
        match happened {
            Happened::Sent(seq) => {
                self.took(copy, seq);
            }
            Happened::Delivered(seq) => {
                self.took(copy, seq);
                if let Some(copy) = copy
                    && self.deleted.get(copy).is_some_and(|at| *at < seq)
                {
                    self.deleted.remove(copy);
                }
                let place = self.delivered.partition_point(|at| *at < seq);
                self.delivered.insert(place, seq);
            }
            Happened::Deleted(deletion) => {
                if let Some(copy) = &deletion.copy {
                    self.deleted.insert(copy.clone(), deletion.at);
                }
                let place = self.deletions.partition_point(|one| one.at < deletion.at);
                self.deletions.insert(place, deletion);
            }
        }
    }

    fn took(&mut self, copy: Option<&str>, seq: u64) {
        if let Some(copy) = copy {
            self.sent.entry(copy.to_owned()).or_insert(seq);
        }
    }

    fn enter_write(&mut self, seq: u64, what: Write) {
        let writes = match what {
            Write::Performed => &mut self.writes,
            Write::Repeated => &mut self.repetitions,
        };
        let place = writes.partition_point(|at| *at < seq);
        writes.insert(place, seq);
    }
}

#[cfg(test)]
mod tests;
