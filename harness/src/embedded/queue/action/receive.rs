//! `ReceiveMessage`: what is asked for and what each message shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::broker::Want;
use super::super::content::Attribute;
use super::super::digest;
use super::super::protocol::json::render;
use super::super::refusal::{Code, Refusal};
use super::super::server::Shared;
use super::super::state::{Delivery, Message};
use super::outgoing::Value;
use super::{Caller, queue_in, within};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Receive {
    queue_url: Option<String>,
    max_number_of_messages: Option<i64>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    attribute_names: Option<Vec<String>>,
    message_system_attribute_names: Option<Vec<String>>,
    message_attribute_names: Option<Vec<String>>,
    /// For FIFO queues; standard queues ignore it.
    #[serde(rename = "ReceiveRequestAttemptId")]
    attempt: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Received<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Shown<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Shown<'a> {
    message_id: Uuid,
    receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    body_sum: &'a str,
    body: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<&'static str, String>,
    #[serde(
        rename = "MD5OfMessageAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    attributes_sum: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    message_attributes: BTreeMap<&'a str, Value>,
}

/// The system attributes that can be asked for. The last three only FIFO
/// messages (and, the group, fair ones) have.
const SYSTEM: [&str; 9] = [
    "AWSTraceHeader",
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "DeadLetterQueueSourceArn",
    "SenderId",
    "SentTimestamp",
    "MessageGroupId",
    "MessageDeduplicationId",
    "SequenceNumber",
];

pub(super) async fn receive(
    shared: &Shared,
    caller: &Caller,
    request: Receive,
) -> Result<Vec<u8>, Refusal> {
    let queue = queue_in(shared, request.queue_url.as_ref())?.to_owned();
    let max = within(
        "MaxNumberOfMessages",
        request.max_number_of_messages,
        1..=10,
    )?
    .unwrap_or(1);
    let want = Want {
        queue,
        max: max as usize,
        visibility: within("VisibilityTimeout", request.visibility_timeout, 0..=43_200)?,
        wait: within("WaitTimeSeconds", request.wait_time_seconds, 0..=20)?,
        attempt: request.attempt,
    };
    // The older name of the parameter is still served; both may be given.
    let system: Vec<String> = [
        request.attribute_names,
        request.message_system_attribute_names,
    ]
    .into_iter()
    .flatten()
    .flatten()
    .collect();
    for name in &system {
        if name != "All" && !SYSTEM.contains(&name.as_str()) {
            return Err(Refusal::new(
                Code::InvalidAttributeName,
                format!("Unknown Attribute {name}."),
            ));
        }
    }
    let custom = request.message_attribute_names.unwrap_or_default();
    let deliveries = shared
        .broker
        .receive(want, || caller.probe.is_client_there())
        .await?;
    let messages = deliveries
        .iter()
        .map(|delivery| show(delivery, shared, &system, &custom))
        .collect();
    render(&Received { messages })
}

fn show<'a>(
    delivery: &'a Delivery,
    shared: &Shared,
    system: &[String],
    custom: &[String],
) -> Shown<'a> {
    let message = &delivery.message;
    let all = system.iter().any(|name| name == "All");
    let asked: BTreeMap<&str, &Attribute> = message
        .content
        .attributes
        .iter()
        .filter(|(name, _)| custom.iter().any(|pattern| matches(pattern, name)))
        .map(|(name, attribute)| (name.as_str(), attribute))
        .collect();
    Shown {
        message_id: message.id,
        receipt_handle: delivery.receipt.to_string(),
        body_sum: &message.content.body_md5,
        body: &message.content.body,
        attributes: SYSTEM
            .into_iter()
            .filter(|name| all || system.iter().any(|asked| asked == name))
            .filter_map(|name| Some((name, system_value(message, shared, name)?)))
            .collect(),
        // Over what is shown, so that the client can check it.
        attributes_sum: digest::of_attributes(asked.clone()),
        message_attributes: asked
            .into_iter()
            .map(|(name, attribute)| (name, attribute.into()))
            .collect(),
    }
}

/// `All` and `.*` mean every attribute, `prefix.*` those that start with `prefix`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern {
        "All" | ".*" => true,
        _ => match pattern.strip_suffix(".*") {
            Some(prefix) => name.starts_with(prefix),
            None => pattern == name,
        },
    }
}

fn system_value(message: &Message, shared: &Shared, name: &str) -> Option<String> {
    match name {
        "AWSTraceHeader" => message.content.trace.clone(),
        "ApproximateFirstReceiveTimestamp" => {
            message.first_received.map(|at| at.millis().to_string())
        }
        "ApproximateReceiveCount" => Some(message.receives.to_string()),
        "DeadLetterQueueSourceArn" => message.source.clone(),
        "SenderId" => Some(shared.terms.account.clone()),
        "SentTimestamp" => Some(message.sent.millis().to_string()),
        "MessageGroupId" => message.content.group.clone(),
        "MessageDeduplicationId" => message.deduplication.clone(),
        "SequenceNumber" => message.sequence.clone(),
        _ => None,
    }
}
