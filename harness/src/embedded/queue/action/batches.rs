//! Batches: up to ten entries, each with a fate of its own.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::content::MAX_SIZE;
use super::super::journal::Record;
use super::super::receipt::Receipt;
use super::super::refusal::{Code, Refusal};
use super::super::server::Shared;
use super::outgoing::{Accepted, Given, fit};
use super::{Deleted, queue_in, require, within};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Batch<E> {
    queue_url: Option<String>,
    entries: Option<Vec<E>>,
}

/// What became of each entry.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Outcome<S> {
    successful: Vec<S>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Failed>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Failed {
    id: String,
    sender_fault: bool,
    code: &'static str,
    message: String,
}

impl Failed {
    fn new(id: String, refusal: Refusal) -> Self {
        Self {
            id,
            sender_fault: refusal.code.blame() == "Sender",
            code: refusal.code.query(),
            message: refusal.message,
        }
    }
}

/// An entry that succeeded and has nothing more to say.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Succeeded {
    id: String,
}

impl<S> Outcome<S> {
    fn new() -> Self {
        Self {
            successful: Vec::new(),
            failed: Vec::new(),
        }
    }
}

/// What fails a batch as a whole.
fn check_ids<'a>(ids: impl ExactSizeIterator<Item = &'a Option<String>>) -> Result<(), Refusal> {
    let count = ids.len();
    if count == 0 {
        return Err(Refusal::new(
            Code::EmptyBatchRequest,
            "There should be at least one entry in the request.",
        ));
    }
    if count > 10 {
        return Err(Refusal::new(
            Code::TooManyEntriesInBatchRequest,
            format!("Maximum number of entries per request are 10. You have sent {count}."),
        ));
    }
    let mut seen = BTreeSet::new();
    for id in ids {
        let id = require("Id", id.as_ref())?;
        let well_formed = (1..=80).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if !well_formed {
            return Err(Refusal::new(
                Code::InvalidBatchEntryId,
                "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.",
            ));
        }
        if !seen.insert(id) {
            return Err(Refusal::new(
                Code::BatchEntryIdsNotDistinct,
                format!("Id {id} repeated."),
            ));
        }
    }
    Ok(())
}

#[derive(Debug, Deserialize)]
pub(super) struct SendEntry {
    #[serde(rename = "Id")]
    id: Option<String>,
    #[serde(flatten)]
    message: Given,
}

#[derive(Debug, Serialize)]
pub(super) struct Sent {
    #[serde(rename = "Id")]
    id: String,
    #[serde(flatten)]
    receipt: Accepted,
}

pub(super) fn send(shared: &Shared, request: Batch<SendEntry>) -> Result<Outcome<Sent>, Refusal> {
    let queue = queue_in(shared, request.queue_url.as_ref())?.to_owned();
    let entries = request.entries.unwrap_or_default();
    check_ids(entries.iter().map(|entry| &entry.id))?;
    let size: usize = entries.iter().map(|entry| entry.message.rough_size()).sum();
    if size > MAX_SIZE {
        return Err(Refusal::new(
            Code::BatchRequestTooLong,
            format!(
                "Batch requests cannot be longer than {MAX_SIZE} bytes. You have sent {size} bytes."
            ),
        ));
    }
    let checked: Vec<_> = entries
        .into_iter()
        .map(|entry| (entry.id.unwrap_or_default(), entry.message.check()))
        .collect();
    shared.broker.change(|state, now| {
        let settings = &state.queue(&queue)?.settings;
        let mut outcome = Outcome::new();
        let mut messages = Vec::new();
        let mut accepted = Vec::new();
        for (id, checked) in checked {
            let fits = checked.and_then(|mut checked| {
                fit(&mut checked.outgoing, settings)?;
                Ok(checked)
            });
            match fits {
                Ok(checked) => {
                    messages.push(checked.outgoing);
                    accepted.push((id, checked.receipt));
                }
                Err(refusal) => outcome.failed.push(Failed::new(id, refusal)),
            }
        }
        let sent = state.send(&queue, &messages, now)?;
        let named = accepted
            .into_iter()
            .zip(sent)
            .map(|((id, receipt), sent)| Sent {
                id,
                receipt: receipt.named(sent),
            });
        outcome.successful.extend(named);
        let record = (!messages.is_empty()).then_some(Record::Send { queue, messages });
        Ok((outcome, record))
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiptEntry {
    id: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

impl ReceiptEntry {
    fn receipt(&self) -> Result<Receipt, Refusal> {
        let handle = require("ReceiptHandle", self.receipt_handle.as_ref())?;
        Receipt::parse(handle).ok_or_else(Refusal::bad_handle)
    }
}

/// Does one thing to each entry and keeps what was done for the journal.
fn each<D>(
    entries: &[ReceiptEntry],
    mut act: impl FnMut(&ReceiptEntry) -> Result<D, Refusal>,
) -> (Outcome<Succeeded>, Vec<D>) {
    let mut outcome = Outcome::new();
    let mut done = Vec::new();
    for entry in entries {
        let id = entry.id.clone().unwrap_or_default();
        match act(entry) {
            Ok(what) => {
                done.push(what);
                outcome.successful.push(Succeeded { id });
            }
            Err(refusal) => outcome.failed.push(Failed::new(id, refusal)),
        }
    }
    (outcome, done)
}

pub(super) fn delete(
    shared: &Shared,
    request: &Batch<ReceiptEntry>,
) -> Result<Deleted<Outcome<Succeeded>>, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    let entries = request.entries.as_deref().unwrap_or_default();
    check_ids(entries.iter().map(|entry| &entry.id))?;
    shared.broker.change(|state, now| {
        state.queue(name)?;
        let (reply, done) = each(entries, |entry| {
            let receipt = entry.receipt()?;
            Ok((receipt, state.delete(name, receipt, now)?))
        });
        let (receipts, outcomes): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        let queue = name.to_owned();
        let record = (!receipts.is_empty()).then_some(Record::Delete { queue, receipts });
        Ok((Deleted { reply, outcomes }, record))
    })
}

pub(super) fn change_visibility(
    shared: &Shared,
    request: &Batch<ReceiptEntry>,
) -> Result<Outcome<Succeeded>, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    let entries = request.entries.as_deref().unwrap_or_default();
    check_ids(entries.iter().map(|entry| &entry.id))?;
    shared.broker.change(|state, now| {
        state.queue(name)?;
        let (outcome, receipts) = each(entries, |entry| {
            let receipt = entry.receipt()?;
            let seconds = within("VisibilityTimeout", entry.visibility_timeout, 0..=43_200)?
                .ok_or_else(|| Refusal::missing("VisibilityTimeout"))?;
            state.change_visibility(name, receipt, seconds, now)?;
            Ok((receipt, seconds))
        });
        let queue = name.to_owned();
        let record = (!receipts.is_empty()).then_some(Record::ChangeVisibility { queue, receipts });
        Ok((outcome, record))
    })
}
