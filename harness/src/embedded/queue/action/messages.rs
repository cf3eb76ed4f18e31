//! One message: send, delete, change its visibility.

use serde::Deserialize;

use super::super::journal::Record;
use super::super::receipt::Receipt;
use super::super::refusal::Refusal;
use super::super::server::Shared;
use super::outgoing::{Accepted, Given, fit};
use super::{Deleted, Empty, queue_in, require, within};

#[derive(Debug, Deserialize)]
pub(super) struct Send {
    #[serde(rename = "QueueUrl")]
    queue_url: Option<String>,
    #[serde(flatten)]
    message: Given,
}

pub(super) fn send(shared: &Shared, request: Send) -> Result<Accepted, Refusal> {
    let queue = queue_in(shared, request.queue_url.as_ref())?.to_owned();
    let checked = request.message.check()?;
    let (mut message, receipt) = (checked.outgoing, checked.receipt);
    let mut sent = shared.broker.change(|state, now| {
        fit(&mut message, &state.queue(&queue)?.settings)?;
        let messages = vec![message];
        let sent = state.send(&queue, &messages, now)?;
        Ok((sent, Some(Record::Send { queue, messages })))
    })?;
    Ok(match sent.pop() {
        Some(sent) => receipt.named(sent),
        None => receipt,
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Delete {
    queue_url: Option<String>,
    receipt_handle: Option<String>,
}

pub(super) fn delete(shared: &Shared, request: &Delete) -> Result<Deleted<Empty>, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    let handle = require("ReceiptHandle", request.receipt_handle.as_ref())?;
    shared.broker.change(|state, now| {
        state.queue(name)?;
        let receipt = Receipt::parse(handle).ok_or_else(Refusal::bad_handle)?;
        let outcomes = vec![state.delete(name, receipt, now)?];
        let record = Record::Delete {
            queue: name.to_owned(),
            receipts: vec![receipt],
        };
        let deleted = Deleted {
            reply: Empty {},
            outcomes,
        };
        Ok((deleted, Some(record)))
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ChangeVisibility {
    queue_url: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

pub(super) fn change_visibility(
    shared: &Shared,
    request: &ChangeVisibility,
) -> Result<Empty, Refusal> {
    let name = queue_in(shared, request.queue_url.as_ref())?;
    let handle = require("ReceiptHandle", request.receipt_handle.as_ref())?;
    let seconds = within("VisibilityTimeout", request.visibility_timeout, 0..=43_200)?
        .ok_or_else(|| Refusal::missing("VisibilityTimeout"))?;
    shared.broker.change(|state, now| {
        state.queue(name)?;
        let receipt = Receipt::parse(handle).ok_or_else(Refusal::bad_handle)?;
        state.change_visibility(name, receipt, seconds, now)?;
        let record = Record::ChangeVisibility {
            queue: name.to_owned(),
            receipts: vec![(receipt, seconds)],
        };
        Ok((Empty {}, Some(record)))
    })
}
