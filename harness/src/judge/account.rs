//! The ledger: for each message, everything that the history proves about it.

use std::collections::{BTreeMap, BTreeSet};

use super::Evidence;
use crate::history::Event;
use crate::ids::{CallId, MessageName, StageName};

/// What the history proves about one message.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Its job id, once the client knew it.
    pub job: Option<String>,
    /// Where its client learned that it was accepted.
    pub accepted: Option<u64>,
    /// Where each series begins: at its submission, and at every replay.
    pub series: Vec<u64>,
    /// Terminal passages: where, and which end (`terminal` in the manifest).
    pub ends: Vec<(u64, String)>,
    /// Copies that a queue took, by `MessageId`, and where.
    pub sent: BTreeMap<String, u64>,
    /// Copies that were deleted, and where.
    pub deleted: BTreeMap<String, u64>,
    /// Its deliveries.
    pub delivered: Vec<u64>,
    /// Deletions by its receivers.
    pub deletions: Vec<Deletion>,
    /// Where it came to rest outside of all queues (`resting` in the manifest).
    pub rests: Option<u64>,
    /// Writes that an outside service performed for it.
    pub writes: Vec<u64>,
    /// Writes for it that were answered and not performed, because of their idempotency key.
    pub repetitions: Vec<u64>,
}

/// A deletion by a receiver.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// Where the queue's answer stands.
    pub at: u64,
    /// Where the call began.
    pub began: u64,
    /// The copy, if its delivery was witnessed.
    pub copy: Option<String>,
}

impl Account {
    /// Which series a place in the history belongs to, from 0.
    pub fn series_at(&self, seq: u64) -> usize {
        self.series
            .iter()
            .filter(|start| **start <= seq)
            .count()
            .saturating_sub(1)
    }

    /// The terminal passages of one series.
    pub fn ends_in(&self, series: usize) -> Vec<&(u64, String)> {
        self.ends
            .iter()
            .filter(|(seq, _)| self.series_at(*seq) == series)
            .collect()
    }

    /// Whether it was accepted and has, in its present series, neither an end nor a place
    /// to rest.
    pub fn is_unsettled(&self) -> bool {
        self.accepted.is_some()
            && self.ends_in(self.latest()).is_empty()
            && !self.rests.is_some_and(|seq| self.is_latest(seq))
    }

    /// Whether a queue took a copy of it in its present series.
    pub fn is_sent(&self) -> bool {
        self.sent.values().any(|seq| self.is_latest(*seq))
    }

    fn latest(&self) -> usize {
        self.series.len().saturating_sub(1)
    }

    fn is_latest(&self, seq: u64) -> bool {
        self.series_at(seq) == self.latest()
    }

    /// Copies that a queue took and that nobody deleted.
    pub fn left(&self) -> Vec<&String> {
        self.sent
            .keys()
            .filter(|copy| !self.deleted.contains_key(*copy))
            .collect()
    }
}

/// The accounts of all declared messages.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By name.
    pub accounts: BTreeMap<MessageName, Account>,
    /// All copies that a queue took or handed over, foreign ones too, and whether they
    /// were deleted.
    copies: BTreeMap<String, bool>,
    /// Writes that an outside service performed for no message: where, and the job's id
    /// as it stood in the request.
    pub strange_writes: Vec<(u64, Option<String>)>,
}

impl Ledger {
    /// Reads a history.
    pub fn of(evidence: Evidence<'_>) -> Self {
        let terminal: BTreeMap<&StageName, &String> = evidence
            .manifest
            .terminal
            .iter()
            .map(|(end, by)| (&by.stage, end))
            .collect();
        let jobs = job_names(evidence);
        let mut called: BTreeMap<CallId, u64> = BTreeMap::new();
        let copies = copy_names(evidence, &jobs);
        let mut ledger = Self::default();
        for entry in evidence.entries {
            let seq = entry.seq;
            match &entry.event {
                Event::Declared { message, .. } => {
                    ledger.accounts.entry(message.clone()).or_default();
                }
                // A client that tries again means the same series.
                Event::Submitting { message } => {
                    let series = &mut ledger.of_mut(message).series;
                    if series.is_empty() {
                        series.push(seq);
                    }
                }
                Event::Accepted { message, job } => {
                    let account = ledger.of_mut(message);
                    account.accepted.get_or_insert(seq);
                    account.job = Some(job.clone());
                }
                Event::Called { call, .. } => {
                    called.insert(*call, seq);
                }
                Event::Sent { message_id, .. } => {
                    ledger.copies.entry(message_id.clone()).or_default();
                    let Some(message) = copies.get(message_id) else {
                        continue;
                    };
                    ledger
                        .of_mut(message)
                        .sent
                        .entry(message_id.clone())
                        .or_insert(seq);
                }
                Event::Delivered { message_id, .. } => {
                    ledger.copies.entry(message_id.clone()).or_default();
                    let Some(message) = copies.get(message_id) else {
                        continue;
                    };
                    let account = ledger.of_mut(message);
                    account.sent.entry(message_id.clone()).or_insert(seq);
                    account.delivered.push(seq);
                }
                Event::Deleted {
                    call,
                    message_id,
                    message,
                    ..
                } => {
                    if let Some(copy) = message_id {
                        ledger.copies.insert(copy.clone(), true);
                    }
                    let message = message.clone().or_else(|| {
                        message_id
                            .as_ref()
                            .and_then(|copy| copies.get(copy).cloned())
                    });
                    if let Some(message) = message {
                        let began = called.get(call).copied().unwrap_or(seq);
                        let account = ledger.of_mut(&message);
                        account.deletions.push(Deletion {
                            at: seq,
                            began,
                            copy: message_id.clone(),
                        });
                        if let Some(copy) = message_id {
                            account.deleted.insert(copy.clone(), seq);
                        }
                    }
                }
                Event::Performed {
                    write,
                    repeated,
                    message,
                    job,
                    ..
                } if *write || *repeated => {
                    let message = message
                        .clone()
                        .or_else(|| job.as_ref().and_then(|job| jobs.get(job).cloned()));
                    match message {
                        Some(message) if *write => ledger.of_mut(&message).writes.push(seq),
                        Some(message) => ledger.of_mut(&message).repetitions.push(seq),
                        None if *write => ledger.strange_writes.push((seq, job.clone())),
                        None => {}
                    }
                }
                Event::Stage {
                    stage,
                    message: Some(message),
                    ..
                } => {
                    if evidence.manifest.replay.as_ref() == Some(stage) {
                        ledger.of_mut(message).series.push(seq);
                    }
                    if evidence.manifest.resting.contains(stage) {
                        ledger.of_mut(message).rests = Some(seq);
                    }
                    if let Some(end) = terminal.get(stage) {
                        ledger.of_mut(message).ends.push((seq, (*end).clone()));
                    }
                }
                _ => {}
            }
        }
        ledger
    }

    /// How many copies queues must still hold.
    pub fn copies_left(&self) -> i64 {
        let left = self.copies.values().filter(|deleted| !**deleted).count();
        i64::try_from(left).unwrap_or(i64::MAX)
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

/// Job ids by message, from the whole history: a stub may have been asked before the
/// client knew.
fn job_names(evidence: Evidence<'_>) -> BTreeMap<String, MessageName> {
    evidence
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Accepted { message, job } => Some((job.clone(), message.clone())),
            _ => None,
        })
        .collect()
}

/// Whose copies they are, by `MessageId`, from the whole history: a system may send or
/// receive before its client knows what for.
fn copy_names(
    evidence: Evidence<'_>,
    jobs: &BTreeMap<String, MessageName>,
) -> BTreeMap<String, MessageName> {
    evidence
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Sent {
                message_id,
                message,
                ids,
                ..
            } => {
                let later = || ids.iter().find_map(|id| jobs.get(id));
                Some((message_id, message.as_ref().or_else(later)?))
            }
            Event::Delivered {
                message_id,
                message: Some(message),
                ..
            } => Some((message_id, message)),
            Event::Alias { id, message } => Some((id, message)),
            _ => None,
        })
        .map(|(copy, message)| (copy.clone(), message.clone()))
        .collect()
}
