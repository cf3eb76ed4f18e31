//! YAML as a tree in which each value knows its place. Duplicate keys are kept, so
//! that they can be reported together with everything else.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::Spanned;

use super::problem::Defect;
use super::source::{Source, Span};

/// How deep values may be nested. Reading one level takes tens of kilobytes of stack
/// without optimisation, and a manifest has no more than seven besides the body it submits.
const DEEPEST: usize = 16;
/// So many values a manifest has at most, those of aliases counted each time.
const MOST: usize = 50_000;

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    /// Where the value is written (where it is used, for an alias).
    pub(super) span: Span,
    /// Where its key is written, if it stands under one.
    pub(super) key: Option<Span>,
}

/// A value of the file. Numbers and truth values keep their spelling.
#[derive(Debug)]
pub(super) enum Value {
    Null,
    Flag(bool, String),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(Node, Node)>),
}

impl Node {
    /// Where something that is missing from this value is best shown.
    pub(super) fn anchor(&self) -> Span {
        self.key.unwrap_or(self.span)
    }

    /// What kind of value it is, for messages.
    pub(super) fn found(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Flag(..) => "a truth value",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table of keys",
        }
    }

    /// Reads a whole file.
    pub(super) fn parse(source: &Source<'_>, text: &str) -> Result<Self, (Span, Defect)> {
        let options = serde_yaml::options! {
            duplicate_keys: serde_yaml::DuplicateKeyPolicy::PassThrough,
            strict_booleans: true,
            reject_unsupported_tags: true,
            non_finite_float_policy: serde_yaml::NonFiniteFloatPolicy::AsString,
            with_snippet: false,
            budget: serde_yaml::budget! {
                max_depth: DEEPEST,
                max_nodes: MOST,
                flow_nesting_limit: DEEPEST,
            },
        };
        match serde_yaml::from_str_with_options::<Spanned<Raw>>(text, options) {
            Ok(raw) => Ok(Self::from_raw(raw, source, None)),
            Err(error) => {
                // Errors of the parser itself know their place by line and column only.
                let span = error
                    .location()
                    .map(|location| match location.span().byte_offset() {
                        Some(_) => span(location.span()),
                        None => source.at(location.line(), location.column()),
                    });
                Err((span.unwrap_or_default(), Defect::Yaml(Box::new(error))))
            }
        }
    }

    fn from_raw(raw: Spanned<Raw>, source: &Source<'_>, key: Option<Span>) -> Self {
        let written = source.slice(span(raw.defined.span()));
        let value = match raw.value {
            Raw::Null => Value::Null,
            Raw::Flag(flag) => Value::Flag(flag, spelling(written, || flag.to_string())),
            Raw::Number(number) => Value::Number(spelling(written, || number)),
            Raw::Text(text) => Value::Text(text),
            Raw::List(items) => Value::List(
                items
                    .into_iter()
                    .map(|item| Self::from_raw(item, source, None))
                    .collect(),
            ),
            Raw::Table(entries) => Value::Table(
                entries
                    .into_iter()
                    .map(|(key, value)| {
                        let key = Self::from_raw(key, source, None);
                        let value = Self::from_raw(value, source, Some(key.span));
                        (key, value)
                    })
                    .collect(),
            ),
        };
        Self {
            value,
            span: span(raw.referenced.span()),
            key,
        }
    }
}

/// A plain scalar as written (`1.10` stays `1.10`), unless quotes or a tag stand there.
fn spelling(written: &str, parsed: impl FnOnce() -> String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_');
    if !written.is_empty() && written.chars().all(plain) {
        written.to_owned()
    } else {
        parsed()
    }
}

fn span(span: serde_yaml::Span) -> Span {
    let to_usize = |number: Option<u64>| number.and_then(|n| usize::try_from(n).ok());
    Span {
        offset: to_usize(span.byte_offset()).unwrap_or_default(),
        length: to_usize(span.byte_len()).unwrap_or_default(),
    }
}

/// The tree as serde hands it over.
enum Raw {
    Null,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Table(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
        Ok(Raw::Number(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Raw, E> {
        Ok(Raw::Number(number.to_string()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Raw, E> {
        Ok(Raw::Number(number.to_string()))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Raw, E> {
        Ok(Raw::Number(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
        Ok(Raw::Number(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Table(entries))
    }
}
