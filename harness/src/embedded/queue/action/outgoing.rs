//! A message as a client sends it, alone or in a batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::content::{Attribute, Content, MAX_SIZE, Payload};
use super::super::digest;
use super::super::refusal::{Code, Refusal};
use super::super::settings::Settings;
use super::super::state::{Outgoing, Sent};
use super::within;

/// The members that `SendMessage` and an entry of its batch share.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Given {
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_attributes: Option<BTreeMap<String, Value>>,
    message_system_attributes: Option<BTreeMap<String, Value>>,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
}

/// An attribute's value in the JSON protocol, in requests and replies.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
#[expect(clippy::struct_field_names, reason = "the protocol's names")]
pub(super) struct Value {
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    string_list_values: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_list_values: Option<Vec<String>>,
    data_type: Option<String>,
}

impl From<&Attribute> for Value {
    fn from(attribute: &Attribute) -> Self {
        let (string_value, binary_value) = match &attribute.payload {
            Payload::Text(text) => (Some(text.clone()), None),
            Payload::Binary(bytes) => (None, Some(STANDARD.encode(bytes))),
        };
        Self {
            string_value,
            binary_value,
            string_list_values: None,
            binary_list_values: None,
            data_type: Some(attribute.data_type.clone()),
        }
    }
}

impl Value {
    fn read(self, name: &str) -> Result<Attribute, Refusal> {
        let refuse = |reason: &str| {
            Refusal::new(
                Code::InvalidParameterValue,
                format!("The message attribute '{name}' {reason}."),
            )
        };
        if self.string_list_values.is_some_and(|list| !list.is_empty())
            || self.binary_list_values.is_some_and(|list| !list.is_empty())
        {
            return Err(Refusal::new(
                Code::UnsupportedOperation,
                "Message attribute lists in SendMessage operations are not supported.",
            ));
        }
        let data_type = self
            .data_type
            .ok_or_else(|| refuse("must contain a message attribute type"))?;
        let payload = match (self.string_value, self.binary_value) {
            (Some(text), None) => Payload::Text(text),
            (None, Some(encoded)) => Payload::Binary(
                STANDARD
                    .decode(encoded)
                    .map_err(|_| refuse("must be base64 in BinaryValue"))?,
            ),
            (Some(_), Some(_)) => return Err(refuse("has more than one value")),
            (None, None) => return Err(refuse("must contain a non-empty value of its type")),
        };
        Ok(Attribute { data_type, payload })
    }
}

/// A message that passed every check that needs no queue.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) outgoing: Outgoing,
    pub(super) receipt: Accepted,
}

/// What the sender learns of an accepted message.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Accepted {
    #[serde(rename = "MessageId")]
    id: Uuid,
    #[serde(rename = "MD5OfMessageBody")]
    body: String,
    #[serde(
        rename = "MD5OfMessageAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    attributes: Option<String>,
    #[serde(
        rename = "MD5OfMessageSystemAttributes",
        skip_serializing_if = "Option::is_none"
    )]
    system: Option<String>,
    #[serde(rename = "SequenceNumber", skip_serializing_if = "Option::is_none")]
    sequence: Option<String>,
}

impl Accepted {
    /// With the names that the queue gave the message.
    pub(super) fn named(self, sent: Sent) -> Self {
        Self {
            id: sent.id,
            sequence: sent.sequence,
            ..self
        }
    }
}

impl Given {
    /// Bytes that count toward the size of a whole batch, checked or not.
    pub(super) fn rough_size(&self) -> usize {
        let attributes = self.message_attributes.iter().flatten();
        let attributes: usize = attributes
            .map(|(name, value)| {
                let text = value.string_value.as_ref().map_or(0, String::len);
                let binary = value
                    .binary_value
                    .as_ref()
                    .map_or(0, |encoded| encoded.trim_end_matches('=').len() * 3 / 4);
                let data_type = value.data_type.as_ref().map_or(0, String::len);
                name.len() + data_type + text + binary
            })
            .sum();
        self.message_body.as_ref().map_or(0, String::len) + attributes
    }

    pub(super) fn check(self) -> Result<Checked, Refusal> {
        let delay = within("DelaySeconds", self.delay_seconds, 0..=900)?;
        check_identifier(
            "MessageDeduplicationId",
            self.message_deduplication_id.as_ref(),
        )?;
        check_identifier("MessageGroupId", self.message_group_id.as_ref())?;
        let body = self
            .message_body
            .ok_or_else(|| Refusal::missing("MessageBody"))?;
        let attributes = self
            .message_attributes
            .unwrap_or_default()
            .into_iter()
            .map(|(name, value)| {
                let attribute = value.read(&name)?;
                Ok((name, attribute))
            })
            .collect::<Result<BTreeMap<_, _>, Refusal>>()?;
        let (trace, system) = trace(self.message_system_attributes.unwrap_or_default())?;
        let content = Content::new(body, attributes, trace, self.message_group_id)?;
        let id = Uuid::new_v4();
        let receipt = Accepted {
            id,
            body: content.body_md5.clone(),
            attributes: digest::of_attributes(
                content
                    .attributes
                    .iter()
                    .map(|(name, attribute)| (name.as_str(), attribute)),
            ),
            system,
            sequence: None,
        };
        Ok(Checked {
            outgoing: Outgoing {
                id,
                content: Arc::new(content),
                delay,
                deduplication: self.message_deduplication_id,
            },
            receipt,
        })
    }
}

const TRACE: &str = "AWSTraceHeader";

/// The trace header and the sum of the system attributes. The header is the only
/// one there is.
fn trace(mut given: BTreeMap<String, Value>) -> Result<(Option<String>, Option<String>), Refusal> {
    let Some(value) = given.remove(TRACE) else {
        return match given.keys().next() {
            None => Ok((None, None)),
            Some(name) => Err(not_a_system_attribute(name)),
        };
    };
    if let Some(name) = given.keys().next() {
        return Err(not_a_system_attribute(name));
    }
    let attribute = value.read(TRACE)?;
    let sum = digest::of_attributes([(TRACE, &attribute)]);
    match (attribute.data_type.as_str(), attribute.payload) {
        ("String", Payload::Text(text)) if !text.is_empty() => Ok((Some(text), sum)),
        _ => Err(Refusal::new(
            Code::InvalidParameterValue,
            "AWSTraceHeader must be a non-empty String.",
        )),
    }
}

fn not_a_system_attribute(name: &str) -> Refusal {
    Refusal::new(
        Code::InvalidParameterValue,
        format!(
            "Message system attribute name '{name}' is invalid; only AWSTraceHeader can be sent."
        ),
    )
}

fn check_identifier(parameter: &str, value: Option<&String>) -> Result<(), Refusal> {
    match value {
        Some(value)
            if !((1..=128).contains(&value.len())
                && value.bytes().all(|byte| byte.is_ascii_graphic())) =>
        {
            let reason = format!(
                "{parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length."
            );
            Err(Refusal::value(value, parameter, &reason))
        }
        _ => Ok(()),
    }
}

/// Makes a message one for this queue, or refuses it.
pub(super) fn fit(outgoing: &mut Outgoing, settings: &Settings) -> Result<(), Refusal> {
    let limit = MAX_SIZE.min(settings.max_size as usize);
    if outgoing.content.size() > limit {
        return Err(Refusal::new(
            Code::InvalidParameterValue,
            format!(
                "One or more parameters are invalid. Reason: Message must be shorter than {limit} bytes."
            ),
        ));
    }
    let other_type = "The request include parameter that is not valid for this queue type.";
    let Some(fifo) = settings.fifo else {
        return match &outgoing.deduplication {
            Some(id) => Err(Refusal::value(id, "MessageDeduplicationId", other_type)),
            None => Ok(()),
        };
    };
    if let Some(delay) = outgoing.delay.take_if(|delay| *delay > 0) {
        return Err(Refusal::value(delay, "DelaySeconds", other_type));
    }
    // A delay of nothing is none of its own.
    outgoing.delay = None;
    if outgoing.content.group.is_none() {
        return Err(Refusal::missing("MessageGroupId"));
    }
    if outgoing.deduplication.is_none() && !fifo.content_based {
        return Err(Refusal::new(
            Code::InvalidParameterValue,
            "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
        ));
    }
    let body = outgoing.content.body.as_bytes();
    outgoing
        .deduplication
        .get_or_insert_with(|| digest::sha256(body));
    Ok(())
}
