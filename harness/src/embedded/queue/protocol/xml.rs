//! Replies of the query protocol.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::refusal::Refusal;
use super::query::Reply;

const NAMESPACE: &str = "http://queue.amazonaws.com/doc/2012-11-05/";

/// Writes a reply.
pub(crate) fn render(reply: &Reply, request_id: &str) -> String {
    let action = &reply.action;
    let mut xml = format!("<?xml version=\"1.0\"?><{action}Response xmlns=\"{NAMESPACE}\">");
    let mut members = String::new();
    write_members(&mut members, action, &reply.members);
    if !members.is_empty() {
        let _ = write!(xml, "<{action}Result>{members}</{action}Result>");
    }
    let _ = write!(
        xml,
        "<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{action}Response>"
    );
    xml
}

/// Writes an error.
pub(crate) fn error(refusal: &Refusal, request_id: &str) -> String {
    let mut xml = format!("<?xml version=\"1.0\"?><ErrorResponse xmlns=\"{NAMESPACE}\"><Error>");
    write_text(&mut xml, "Type", refusal.code.blame());
    write_text(&mut xml, "Code", refusal.code.query());
    write_text(&mut xml, "Message", &refusal.message);
    xml.push_str("<Detail/></Error>");
    write_text(&mut xml, "RequestId", request_id);
    xml.push_str("</ErrorResponse>");
    xml
}

/// Lists lose their frame and each element takes a name of its own; maps become
/// pairs of name and value.
fn write_members(xml: &mut String, action: &str, members: &Value) {
    let Value::Object(members) = members else {
        return;
    };
    for (name, value) in members {
        match (name.as_str(), value) {
            ("Attributes", Value::Object(map)) => write_map(xml, "Attribute", "Name", action, map),
            ("MessageAttributes", Value::Object(map)) => {
                write_map(xml, "MessageAttribute", "Name", action, map);
            }
            ("Tags", Value::Object(map)) => write_map(xml, "Tag", "Key", action, map),
            (list, Value::Array(elements)) => {
                let element_name = match list {
                    "Messages" => "Message".to_owned(),
                    "QueueUrls" | "queueUrls" => "QueueUrl".to_owned(),
                    "Failed" => "BatchResultErrorEntry".to_owned(),
                    _ => format!("{action}ResultEntry"),
                };
                for element in elements {
                    write_value(xml, &element_name, action, element);
                }
            }
            (name, value) => write_value(xml, name, action, value),
        }
    }
}

fn write_map(
    xml: &mut String,
    entry: &str,
    key: &str,
    action: &str,
    map: &serde_json::Map<String, Value>,
) {
    for (name, value) in map {
        let _ = write!(xml, "<{entry}>");
        write_text(xml, key, name);
        write_value(xml, "Value", action, value);
        let _ = write!(xml, "</{entry}>");
    }
}

fn write_value(xml: &mut String, name: &str, action: &str, value: &Value) {
    match value {
        Value::String(text) => write_text(xml, name, text),
        Value::Object(_) => {
            let _ = write!(xml, "<{name}>");
            write_members(xml, action, value);
            let _ = write!(xml, "</{name}>");
        }
        other => write_text(xml, name, &other.to_string()),
    }
}

fn write_text(xml: &mut String, name: &str, text: &str) {
    let _ = write!(xml, "<{name}>");
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            // A bare carriage return would be read as a line feed.
            '\r' => xml.push_str("&#xD;"),
            c => xml.push(c),
        }
    }
    let _ = write!(xml, "</{name}>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_the_query_protocol_has_them() {
        let reply = Reply {
            action: "ReceiveMessage".to_owned(),
            members: serde_json::json!({
                "Messages": [{ "Body": "a<b\r", "Attributes": { "SenderId": "1" } }]
            }),
        };
        let xml = render(&reply, "r");
        assert!(xml.contains("<ReceiveMessageResult><Message>"), "{xml}");
        assert!(xml.contains("<Body>a&lt;b&#xD;</Body>"), "{xml}");
        assert!(
            xml.contains("<Attribute><Name>SenderId</Name><Value>1</Value></Attribute>"),
            "{xml}"
        );
    }
}
