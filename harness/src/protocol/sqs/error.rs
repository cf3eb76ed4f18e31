//! Errors as the SQS JSON protocol writes them.

use serde_json::{Map, Value, json};

use crate::protocol::http::dialect::Refusal;
use crate::protocol::http::message::ResponseMessage;
use crate::tap::SqsReply;

/// Errors whose older, dotted name stands in `x-amzn-query-error`. SDKs that knew the
/// query protocol look there first.
const OLDER_NAMES: [(&str, &str); 12] = [
    (
        "BatchEntryIdsNotDistinct",
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
    ),
    (
        "BatchRequestTooLong",
        "AWS.SimpleQueueService.BatchRequestTooLong",
    ),
    (
        "EmptyBatchRequest",
        "AWS.SimpleQueueService.EmptyBatchRequest",
    ),
    (
        "InvalidBatchEntryId",
        "AWS.SimpleQueueService.InvalidBatchEntryId",
    ),
    (
        "MessageNotInflight",
        "AWS.SimpleQueueService.MessageNotInflight",
    ),
    (
        "PurgeQueueInProgress",
        "AWS.SimpleQueueService.PurgeQueueInProgress",
    ),
    (
        "QueueDeletedRecently",
        "AWS.SimpleQueueService.QueueDeletedRecently",
    ),
    (
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
    ),
    ("QueueNameExists", "QueueAlreadyExists"),
    (
        "TooManyEntriesInBatchRequest",
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
    ),
    (
        "UnsupportedOperation",
        "AWS.SimpleQueueService.UnsupportedOperation",
    ),
    ("KmsThrottled", "KMS.ThrottlingException"),
];

/// An error's short name: that of the modelled shape if the body has one, else the
/// older name of the header.
pub(super) fn name(message: &ResponseMessage, body: &Value) -> Option<String> {
    if message.status < 400 {
        return None;
    }
    let shape = body.get("__type").and_then(Value::as_str);
    let shape = shape.map(|shape| shape.rsplit('#').next().unwrap_or(shape));
    let header = message.headers.get("x-amzn-query-error");
    let older = header.map(|header| header.split(';').next().unwrap_or(header));
    shape.or(older).map(str::to_owned)
}

/// The body and the header of an error that a director ordered.
pub(super) fn body_and_header(name: &str, reply: &SqsReply) -> (String, Option<String>) {
    let mut members = match &reply.body {
        Value::Object(members) => members.clone(),
        _ => Map::new(),
    };
    members
        .entry("__type")
        .or_insert_with(|| json!(format!("com.amazonaws.sqs#{name}")));
    members.entry("message").or_insert_with(|| json!(name));
    let older = OLDER_NAMES
        .iter()
        .find(|(shape, _)| *shape == name)
        .map_or(name, |(_, older)| older);
    let at_fault = if reply.status >= 500 {
        "Receiver"
    } else {
        "Sender"
    };
    (
        Value::Object(members).to_string(),
        Some(format!("{older};{at_fault}")),
    )
}

/// The refusal of a request in the query protocol, in that protocol.
pub(super) fn query_protocol() -> Refusal {
    let text = "the tap speaks the SQS JSON protocol only; use an SDK from 2024 or later";
    let body = format!(
        "<?xml version=\"1.0\"?>\n<ErrorResponse><Error><Type>Sender</Type>\
         <Code>UnsupportedOperation</Code><Message>{text}</Message></Error></ErrorResponse>\n"
    );
    let response = ResponseMessage::new(400, "text/xml", body);
    Refusal {
        response: Box::new(ResponseMessage {
            keeps_alive: false,
            ..response
        }),
        reason: "a request in the SQS query protocol was not passed on".to_owned(),
    }
}

/// The refusal of a target that is not SQS's.
pub(super) fn unknown_target(target: &str) -> Refusal {
    refusal(
        "UnknownOperationException",
        &format!("`{target}` is not an SQS action"),
    )
}

/// The refusal of a body that is no JSON.
pub(super) fn no_json(action: &str, fault: &serde_json::Error) -> Refusal {
    refusal(
        "SerializationException",
        &format!("the body of this {action} is not JSON: {fault}"),
    )
}

fn refusal(name: &str, text: &str) -> Refusal {
    let body = json!({"__type": format!("com.amazon.coral.service#{name}"), "message": text});
    let response = ResponseMessage::new(400, super::MEDIA_TYPE, body.to_string());
    Refusal {
        response: Box::new(ResponseMessage {
            keeps_alive: false,
            ..response
        }),
        reason: format!("a request was not passed on: {text}"),
    }
}
