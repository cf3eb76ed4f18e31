//! Message move tasks: start, list, cancel.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::journal::Record;
use super::super::refusal::{Code, Refusal};
use super::super::server::Shared;
use super::super::state::Status;
use super::{require, within};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Start {
    source_arn: Option<String>,
    destination_arn: Option<String>,
    max_number_of_messages_per_second: Option<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Started {
    task_handle: String,
}

pub(super) fn start(shared: &Shared, request: Start) -> Result<Started, Refusal> {
    let source = require("SourceArn", request.source_arn.as_ref())?.clone();
    let destination = request.destination_arn;
    let rate = within(
        "MaxNumberOfMessagesPerSecond",
        request.max_number_of_messages_per_second,
        1..=500,
    )?;
    let id = Uuid::new_v4();
    shared.broker.change(|state, now| {
        state.start_transfer(id, &source, destination.as_deref(), rate, now)?;
        let record = Record::StartTransfer {
            id,
            source,
            destination,
            rate,
        };
        Ok(((), Some(record)))
    })?;
    Ok(Started {
        task_handle: handle(id),
    })
}

fn handle(id: Uuid) -> String {
    URL_SAFE_NO_PAD.encode(id.as_bytes())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Cancel {
    task_handle: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Cancelled {
    approximate_number_of_messages_moved: u64,
}

pub(super) fn cancel(shared: &Shared, request: &Cancel) -> Result<Cancelled, Refusal> {
    let handle = require("TaskHandle", request.task_handle.as_ref())?;
    let id = URL_SAFE_NO_PAD
        .decode(handle)
        .ok()
        .and_then(|bytes| Uuid::from_slice(&bytes).ok())
        .ok_or_else(|| Refusal::new(Code::ResourceNotFound, "Task does not exist."))?;
    shared.broker.change(|state, now| {
        let moved = state.cancel_transfer(id, now)?;
        let reply = Cancelled {
            approximate_number_of_messages_moved: moved,
        };
        Ok((reply, Some(Record::CancelTransfer { id })))
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct List {
    source_arn: Option<String>,
    max_results: Option<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Listed {
    results: Vec<Task>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
#[expect(clippy::struct_field_names, reason = "the protocol's names")]
struct Task {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_handle: Option<String>,
    status: &'static str,
    source_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_number_of_messages_per_second: Option<u32>,
    approximate_number_of_messages_moved: u64,
    approximate_number_of_messages_to_move: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<String>,
    started_timestamp: u64,
}

pub(super) fn list(shared: &Shared, request: &List) -> Result<Listed, Refusal> {
    let source = require("SourceArn", request.source_arn.as_ref())?;
    let count = within("MaxResults", request.max_results, 1..=10)?.unwrap_or(1);
    shared.broker.read(|state, now| {
        state.advance_all(now);
        let results = state
            .transfers_of(source)?
            .into_iter()
            .take(count as usize)
            .map(|task| Task {
                // Only a running task can be cancelled, so only it has a handle.
                task_handle: (task.status == Status::Running).then(|| handle(task.id)),
                status: task.status.as_str(),
                source_arn: source.clone(),
                destination_arn: task.destination.as_ref().map(|name| state.terms.arn(name)),
                max_number_of_messages_per_second: task.rate,
                approximate_number_of_messages_moved: task.moved,
                approximate_number_of_messages_to_move: task.to_move,
                failure_reason: task.failure.clone(),
                started_timestamp: task.started.millis(),
            })
            .collect();
        Ok(Listed { results })
    })
}
