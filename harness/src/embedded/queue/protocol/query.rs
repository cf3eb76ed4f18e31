//! The older protocol: a form in, XML out. A form becomes the JSON request that
//! means the same.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::action::{self, Caller};
use super::super::refusal::{Code, Refusal};
use super::super::server::Shared;
pub(crate) use super::xml::{error, render};

/// A reply before it becomes XML.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(super) action: String,
    pub(super) members: Value,
}

/// Performs the action that a form, or the query of a GET, asks for.
pub(crate) async fn answer(
    shared: &Shared,
    caller: &Caller,
    parameters: &str,
    body: &[u8],
) -> Result<Reply, Refusal> {
    let mut form = Form::default();
    form.read(parameters.as_bytes())?;
    form.read(body)?;
    let action = form
        .take("Action")
        .ok_or_else(|| Refusal::missing("Action"))?;
    let mut request = form.into_request();
    // In this protocol a queue may also be named by the path of the request.
    if !request.contains_key("QueueUrl") && caller.path.trim_matches('/').contains('/') {
        let url = format!("{}{}", caller.base, caller.path);
        request.insert("QueueUrl".to_owned(), Value::String(url));
    }
    let request = Value::Object(request).to_string();
    let reply = action::perform(shared, caller, &action, request.as_bytes()).await?;
    let members = serde_json::from_slice(&reply.body).map_err(|error| {
        Refusal::new(
            Code::InternalFailure,
            format!("The reply cannot be written as XML: {error}."),
        )
    })?;
    Ok(Reply { action, members })
}

/// The parameters of a form, as a tree along the dots of their names.
#[derive(Debug, Default)]
struct Form(Node);

#[derive(Debug, Default)]
struct Node {
    value: Option<String>,
    /// Numbers sort as numbers: the key is (number or 0, text).
    children: BTreeMap<(u32, String), Node>,
}

impl Form {
    fn read(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        for pair in bytes.split(|byte| *byte == b'&') {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let name = decode(halves.next().unwrap_or_default())?;
            let value = decode(halves.next().unwrap_or_default())?;
            // No parameter of SQS is deeper than six; a hostile one may be.
            if name.is_empty() || name.split('.').count() > 8 {
                continue;
            }
            let mut node = &mut self.0;
            for part in name.split('.') {
                let number = part.parse().unwrap_or(0);
                node = node.children.entry((number, part.to_owned())).or_default();
            }
            node.value = Some(value);
        }
        Ok(())
    }

    fn take(&mut self, name: &str) -> Option<String> {
        self.0.children.remove(&(0, name.to_owned()))?.value
    }

    fn into_request(self) -> Map<String, Value> {
        self.0.into_members()
    }
}

/// Parameters that are numbers in JSON.
const NUMBERS: [&str; 6] = [
    "DelaySeconds",
    "MaxNumberOfMessages",
    "MaxNumberOfMessagesPerSecond",
    "MaxResults",
    "VisibilityTimeout",
    "WaitTimeSeconds",
];

impl Node {
    fn into_members(self) -> Map<String, Value> {
        let mut members = Map::new();
        for ((_, name), node) in self.children {
            let (name, value) = match name.as_str() {
                "Attribute" => ("Attributes", node.into_map("Name", Self::into_text)),
                "Tag" => ("Tags", node.into_map("Key", Self::into_text)),
                "MessageAttribute" => (
                    "MessageAttributes",
                    node.into_map("Name", Self::into_object),
                ),
                "MessageSystemAttribute" => (
                    "MessageSystemAttributes",
                    node.into_map("Name", Self::into_object),
                ),
                "AttributeName" => ("AttributeNames", node.into_list(Self::into_text)),
                "MessageAttributeName" => {
                    ("MessageAttributeNames", node.into_list(Self::into_text))
                }
                "MessageSystemAttributeName" => (
                    "MessageSystemAttributeNames",
                    node.into_list(Self::into_text),
                ),
                "TagKey" => ("TagKeys", node.into_list(Self::into_text)),
                "SendMessageBatchRequestEntry"
                | "DeleteMessageBatchRequestEntry"
                | "ChangeMessageVisibilityBatchRequestEntry" => {
                    ("Entries", node.into_list(Self::into_object))
                }
                "Version" => continue,
                plain if NUMBERS.contains(&plain) => (plain, node.into_number()),
                plain => (plain, node.into_text()),
            };
            members.insert(name.to_owned(), value);
        }
        members
    }

    fn into_text(self) -> Value {
        Value::String(self.value.unwrap_or_default())
    }

    fn into_object(self) -> Value {
        Value::Object(self.into_members())
    }

    /// A number, or what was sent, for the reader of the request to refuse.
    fn into_number(self) -> Value {
        let text = self.value.unwrap_or_default();
        text.parse::<i64>().map_or(Value::String(text), Value::from)
    }

    fn into_list(self, element: impl Fn(Self) -> Value) -> Value {
        Value::Array(self.children.into_values().map(element).collect())
    }

    /// `X.1.Name=a&X.1.Value=b` is `{a: b}`.
    fn into_map(self, key: &str, value: impl Fn(Self) -> Value) -> Value {
        let entries = self.children.into_values().filter_map(|mut entry| {
            let key = entry.children.remove(&(0, key.to_owned()))?.value?;
            let value_node = entry
                .children
                .remove(&(0, "Value".to_owned()))
                .unwrap_or_default();
            Some((key, value(value_node)))
        });
        Value::Object(entries.collect())
    }
}

fn decode(bytes: &[u8]) -> Result<String, Refusal> {
    let malformed = || {
        Refusal::new(
            Code::MalformedRequest,
            "The form is not percent-encoded UTF-8.",
        )
    };
    let digit = |byte: Option<&u8>| {
        byte.and_then(|byte| char::from(*byte).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
            .ok_or_else(malformed)
    };
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => digit(rest.next())? * 16 + digit(rest.next())?,
            plain => *plain,
        });
    }
    String::from_utf8(decoded).map_err(|_| malformed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(form: &str) -> Value {
        let mut parsed = Form::default();
        parsed.read(form.as_bytes()).unwrap();
        Value::Object(parsed.into_request())
    }

    #[test]
    fn a_form_becomes_the_json_that_means_the_same() {
        assert_eq!(
            request(
                "QueueName=q&Attribute.1.Name=DelaySeconds&Attribute.1.Value=5&Tag.1.Key=a&Tag.1.Value=b%20c"
            ),
            serde_json::json!({
                "QueueName": "q",
                "Attributes": { "DelaySeconds": "5" },
                "Tags": { "a": "b c" },
            })
        );
        assert_eq!(
            request("MaxNumberOfMessages=10&AttributeName.1=All&MessageAttributeName.1=x.*"),
            serde_json::json!({
                "MaxNumberOfMessages": 10,
                "AttributeNames": ["All"],
                "MessageAttributeNames": ["x.*"],
            })
        );
    }

    #[test]
    fn the_entries_of_a_batch_keep_their_order_beyond_nine() {
        let form: Vec<String> = (1..=10)
            .map(|n| format!("SendMessageBatchRequestEntry.{n}.Id=e{n}"))
            .collect();
        let request = request(&form.join("&"));
        let ids: Vec<_> = request["Entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["Id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(ids.last().map(String::as_str), Some("e10"));
    }

    #[test]
    fn what_is_not_percent_encoded_is_refused() {
        for bad in ["a=%", "a=%zz", "a=%ff"] {
            assert!(Form::default().read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
