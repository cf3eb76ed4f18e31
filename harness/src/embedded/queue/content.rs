//! What a message carries, checked against the limits that AWS states.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::digest;
use super::refusal::{Code, Refusal};

/// The largest message, and the largest batch, in bytes.
pub(crate) const MAX_SIZE: usize = 1_048_576;
const MAX_ATTRIBUTES: usize = 10;

/// Body and attributes of a message. They never change once sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    pub(crate) body: String,
    pub(crate) body_md5: String,
    pub(crate) attributes: BTreeMap<String, Attribute>,
    /// `AWSTraceHeader`, the only system attribute that a sender may set.
    pub(crate) trace: Option<String>,
    /// `MessageGroupId`: on a standard queue it only asks for fairness.
    pub(crate) group: Option<String>,
}

/// The value of a message attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attribute {
    /// `String`, `Number` or `Binary`, with an optional custom label.
    pub(crate) data_type: String,
    pub(crate) payload: Payload,
}

/// The bytes of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Payload {
    Text(String),
    Binary(Vec<u8>),
}

impl Payload {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

impl Content {
    /// Checks everything but the queue's own size limit.
    pub(crate) fn new(
        body: String,
        attributes: BTreeMap<String, Attribute>,
        trace: Option<String>,
        group: Option<String>,
    ) -> Result<Self, Refusal> {
        if body.is_empty() {
            return Err(Refusal::missing("MessageBody"));
        }
        if let Some(bad) = forbidden(&body) {
            return Err(Refusal::new(
                Code::InvalidMessageContents,
                format!(
                    "Invalid characters found: U+{:04X}. Valid are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.",
                    u32::from(bad)
                ),
            ));
        }
        if attributes.len() > MAX_ATTRIBUTES {
            return Err(Refusal::new(
                Code::InvalidParameterValue,
                format!(
                    "Number of message attributes [{}] exceeds the allowed maximum [{MAX_ATTRIBUTES}].",
                    attributes.len()
                ),
            ));
        }
        for (name, attribute) in &attributes {
            check_name(name)?;
            check_attribute(name, attribute)?;
        }
        Ok(Self {
            body_md5: digest::of_bytes(body.as_bytes()),
            body,
            attributes,
            trace,
            group,
        })
    }

    /// What counts toward the size limits: the body and, of each attribute, its
    /// name, type and value. System attributes do not count.
    pub(crate) fn size(&self) -> usize {
        let attributes: usize = self
            .attributes
            .iter()
            .map(|(name, attribute)| {
                name.len() + attribute.data_type.len() + attribute.payload.bytes().len()
            })
            .sum();
        self.body.len() + attributes
    }
}

fn forbidden(text: &str) -> Option<char> {
    // Nearly every body is printable ASCII; a byte scan settles those.
    if text
        .bytes()
        .all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7f))
    {
        return None;
    }
    text.chars().find(|c| {
        !matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
    })
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let reserved = |prefix: &str| {
        name.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let well_formed = !name.is_empty()
        && name.len() <= 256
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
        && !reserved("aws.")
        && !reserved("amazon.");
    if well_formed {
        return Ok(());
    }
    Err(Refusal::new(
        Code::InvalidParameterValue,
        format!(
            "Message (user) attribute name '{name}' is invalid: 1 to 256 of A-Z, a-z, 0-9, underscore, hyphen and period; no period first, last or twice in a row; not starting with AWS. or Amazon."
        ),
    ))
}

fn check_attribute(name: &str, attribute: &Attribute) -> Result<(), Refusal> {
    let refuse = |reason: &str| {
        Err(Refusal::new(
            Code::InvalidParameterValue,
            format!("The message attribute '{name}' {reason}."),
        ))
    };
    let kind = attribute
        .data_type
        .split_once('.')
        .map_or(attribute.data_type.as_str(), |(kind, _)| kind);
    if attribute.data_type.is_empty() || attribute.data_type.len() > 256 {
        return refuse("must contain a non-empty message attribute type of at most 256 characters");
    }
    match (kind, &attribute.payload) {
        ("String" | "Number", Payload::Text(text)) => {
            if text.is_empty() {
                return refuse("must contain a non-empty value of its type");
            }
            if forbidden(text).is_some() {
                return refuse("contains characters outside the allowed set");
            }
            if kind == "Number" && !is_number(text) {
                return refuse("cannot be cast to a number");
            }
            Ok(())
        }
        ("Binary", Payload::Binary(bytes)) if bytes.is_empty() => {
            refuse("must contain a non-empty value of its type")
        }
        ("Binary", Payload::Binary(_)) => Ok(()),
        ("String" | "Number" | "Binary", _) => refuse("must carry the value that its type names"),
        _ => refuse("has an invalid message attribute type; use String, Number or Binary"),
    }
}

/// Up to 38 digits, from 1e-128 to 1e126 in size, zero included.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    let well_formed = digits().next().is_some()
        && digits().all(|byte| byte.is_ascii_digit())
        && exponent.parse::<i32>().is_ok();
    let significant = digits().skip_while(|byte| *byte == b'0').count();
    let size: f64 = text.parse().unwrap_or(f64::INFINITY);
    well_formed && significant <= 38 && (size == 0.0 || (1e-128..=1e126).contains(&size))
}

/// Keeps a shared content shared in memory and plain in the journal.
pub(crate) mod shared {
    use super::{Arc, Content, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        content: &Arc<Content>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        content.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Content>, D::Error> {
        Content::deserialize(deserializer).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> Result<Content, Refusal> {
        Content::new(text.to_owned(), BTreeMap::new(), None, None)
    }

    fn with(name: &str, data_type: &str, payload: Payload) -> Result<Content, Refusal> {
        let attribute = Attribute {
            data_type: data_type.to_owned(),
            payload,
        };
        Content::new(
            "body".to_owned(),
            BTreeMap::from([(name.to_owned(), attribute)]),
            None,
            None,
        )
    }

    #[test]
    fn bodies_are_limited_to_the_characters_that_aws_allows() {
        for good in ["x", "\t\n\r ~\u{7f}", "\u{85}ü\u{fffd}\u{10ffff}"] {
            assert!(body(good).is_ok(), "{good:?}");
        }
        for bad in ["a\u{0}", "\u{8}", "\u{1f}", "ü\u{fffe}", "\u{ffff}"] {
            assert_eq!(
                body(bad).unwrap_err().code,
                Code::InvalidMessageContents,
                "{bad:?}"
            );
        }
        assert_eq!(body("").unwrap_err().code, Code::MissingParameter);
    }

    #[test]
    fn attributes_count_toward_the_size() {
        let content = with("name", "String", Payload::Text("value".into())).unwrap();
        assert_eq!(content.size(), 4 + 4 + 6 + 5);
    }

    #[test]
    fn attribute_names_and_types_follow_the_rules() {
        let text = || Payload::Text("1".into());
        for name in ["a", "A-b_c.d", "aws", "AWSome"] {
            assert!(with(name, "String", text()).is_ok(), "{name}");
        }
        for name in ["", ".a", "a.", "a..b", "aws.x", "Amazon.x", "sp ace", "ü"] {
            assert!(with(name, "String", text()).is_err(), "{name}");
        }
        for kind in ["String", "String.custom", "Number", "Number.int"] {
            assert!(with("a", kind, text()).is_ok(), "{kind}");
        }
        for kind in ["", "string", "Float", "Binary"] {
            assert!(with("a", kind, text()).is_err(), "{kind}");
        }
        assert!(with("a", "Binary.png", Payload::Binary(vec![0])).is_ok());
        assert!(with("a", "Binary", Payload::Binary(vec![])).is_err());
    }

    #[test]
    fn numbers_are_numbers() {
        for good in ["0", "-1", "+1.5", "1e10", ".5", "1E-100"] {
            assert!(is_number(good), "{good}");
        }
        for bad in [
            "",
            "one",
            "1e",
            "0x10",
            "1e200",
            "NaN",
            "inf",
            "1 ",
            &"9".repeat(39),
        ] {
            assert!(!is_number(bad), "{bad}");
        }
    }
}
