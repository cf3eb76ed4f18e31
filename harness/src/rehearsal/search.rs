//! Where known ids stand in a content that nobody could name, and what it looks like.
//!
//! A content is opened as far as it can be: JSON, JSON within texts, base64, gzip, zlib,
//! forms. What stands in it word for word leads to a place as a manifest writes it; what
//! merely occurs within other bytes (a pickled body, say) is told without a place.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::ids::MessageName;
use crate::manifest::{PathStep, Pipeline, Reading};
use crate::place;

/// How deep contents are opened.
const DEEPEST: usize = 8;
/// How many values are looked at in one content.
const MOST_VALUES: usize = 20_000;
/// Shorter ids occur in other bytes by chance.
const SHORTEST_WITHIN: usize = 6;

/// What ids mean which message.
pub(crate) type Known = BTreeMap<String, MessageName>;

/// Where something stands that is looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Body,
    /// `header` or `attribute`, by name.
    Named(&'static str, String),
}

/// A known id in a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Find {
    /// The place as a manifest writes it: `{ body: $.job }`.
    pub(crate) place: String,
    pub(crate) id: String,
    pub(crate) message: MessageName,
    /// Whether the place gives the id and nothing else.
    pub(crate) exact: bool,
}

/// Everything that is found in a content.
pub(crate) fn find(known: &Known, root: &Root, content: &[u8]) -> Vec<Find> {
    let mut search = Search {
        known,
        root,
        budget: MOST_VALUES,
        finds: Vec::new(),
    };
    search.open(content, &mut Vec::new());
    search.finds
}

/// The finds of several contents: the place that names most messages first, those that
/// only occur within other bytes if there is no other.
pub(crate) fn ranked(finds: Vec<Find>) -> Vec<Find> {
    let exact = finds.iter().any(|find| find.exact);
    let mut named: BTreeMap<String, BTreeSet<MessageName>> = BTreeMap::new();
    let mut first: Vec<Find> = Vec::new();
    for find in finds.into_iter().filter(|find| find.exact == exact) {
        let messages = named.entry(find.place.clone()).or_default();
        if messages.is_empty() {
            first.push(find.clone());
        }
        messages.insert(find.message);
    }
    // A long id is no accident.
    first.sort_by_key(|find| {
        let messages = named[&find.place].len();
        (
            std::cmp::Reverse(messages),
            std::cmp::Reverse(find.id.len()),
            find.place.len(),
        )
    });
    first
}

struct Search<'k> {
    known: &'k Known,
    root: &'k Root,
    budget: usize,
    finds: Vec<Find>,
}

impl Search<'_> {
    /// Looks into bytes that are reached by `trail`.
    fn open(&mut self, bytes: &[u8], trail: &mut Vec<Reading>) {
        if self.budget == 0 || trail.len() > DEEPEST {
            return;
        }
        self.budget -= 1;
        let text = std::str::from_utf8(bytes).ok().map(str::trim);
        if let Some(text) = text
            && self.note(text, trail)
        {
            return;
        }
        if let Ok(value @ (Value::Object(_) | Value::Array(_) | Value::String(_))) =
            serde_json::from_slice::<Value>(bytes)
        {
            // A path looks into a body as it stands.
            let plain = self.root == &Root::Body && trail.is_empty();
            self.within(trail, (!plain).then_some(Reading::Json), |search, trail| {
                search.look(&value, &mut Vec::new(), trail);
            });
            return;
        }
        if let Some((reading, unpacked)) = place::unpack(bytes) {
            self.decoded(trail, reading, &unpacked);
            return;
        }
        if let Some(unpacked) = text.and_then(meaningful_base64) {
            self.decoded(trail, Reading::Base64, &unpacked);
        } else if let Some(fields) = text.and_then(as_form) {
            self.begin(trail, |search, trail| {
                search.within(trail, Some(Reading::Form), |search, trail| {
                    search.look(&fields, &mut Vec::new(), trail);
                });
            });
        }
        self.note_within(bytes, trail);
    }

    fn decoded(&mut self, trail: &mut Vec<Reading>, reading: Reading, bytes: &[u8]) {
        self.begin(trail, |search, trail| {
            search.within(trail, Some(reading), |search, trail| {
                search.open(bytes, trail);
            });
        });
    }

    /// A pipeline of a body begins with a path.
    fn begin(
        &mut self,
        trail: &mut Vec<Reading>,
        go_on: impl FnOnce(&mut Self, &mut Vec<Reading>),
    ) {
        let whole = self.root == &Root::Body && trail.is_empty();
        self.within(trail, whole.then(|| Reading::Select(Vec::new())), go_on);
    }

    fn within(
        &mut self,
        trail: &mut Vec<Reading>,
        reading: Option<Reading>,
        go_on: impl FnOnce(&mut Self, &mut Vec<Reading>),
    ) {
        let before = trail.len();
        trail.extend(reading);
        go_on(self, trail);
        trail.truncate(before);
    }

    fn look(&mut self, value: &Value, path: &mut Vec<PathStep>, trail: &mut Vec<Reading>) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    path.push(PathStep::Member(name.clone()));
                    self.look(member, path, trail);
                    path.pop();
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    path.push(PathStep::Element(index));
                    self.look(element, path, trail);
                    path.pop();
                }
            }
            Value::String(text) => {
                let select =
                    (!path.is_empty() || trail.is_empty()).then(|| Reading::Select(path.clone()));
                self.within(trail, select, |search, trail| {
                    search.open(text.as_bytes(), trail);
                });
            }
            Value::Number(number) => {
                let select = Some(Reading::Select(path.clone()));
                self.within(trail, select, |search, trail| {
                    search.note(&number.to_string(), trail);
                });
            }
            Value::Bool(_) | Value::Null => {}
        }
    }

    /// Notes a text that is a known id and nothing else.
    fn note(&mut self, text: &str, trail: &[Reading]) -> bool {
        let Some(message) = self.known.get(text) else {
            return false;
        };
        self.finds.push(Find {
            place: self.place(trail),
            id: text.to_owned(),
            message: message.clone(),
            exact: true,
        });
        true
    }

    fn note_within(&mut self, bytes: &[u8], trail: &[Reading]) {
        let long = |id: &&String| id.len() >= SHORTEST_WITHIN;
        for id in self.known.keys().filter(long) {
            let there = bytes.windows(id.len()).any(|part| part == id.as_bytes());
            if there {
                self.finds.push(Find {
                    place: self.place(trail),
                    id: id.clone(),
                    message: self.known[id].clone(),
                    exact: false,
                });
            }
        }
    }

    fn place(&self, trail: &[Reading]) -> String {
        let pipeline = Pipeline(trail.to_vec()).to_string();
        let (key, value) = match self.root {
            Root::Body if trail.is_empty() => ("body", "$".to_owned()),
            Root::Body => ("body", pipeline),
            Root::Named(key, name) if trail.is_empty() => (*key, name.clone()),
            Root::Named(key, name) => (*key, format!("{name} | {pipeline}")),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "$._-".contains(c);
        if value.chars().all(plain) {
            format!("{{ {key}: {value} }}")
        } else {
            format!("{{ {key}: {} }}", Value::from(value))
        }
    }
}

/// What a text is base64 of, if that looks like anything: words of a language are base64 too.
fn meaningful_base64(text: &str) -> Option<Vec<u8>> {
    if text.len() < 8 {
        return None;
    }
    let bytes = place::unbase64(text.as_bytes())?;
    let printable = std::str::from_utf8(&bytes)
        .is_ok_and(|text| !text.chars().any(|c| c.is_control() && !c.is_whitespace()));
    // A pickled value begins with its protocol.
    let pickled = bytes.starts_with(&[0x80]) && bytes.get(1).is_some_and(|version| *version <= 5);
    (printable || pickled || place::unpack(&bytes).is_some()).then_some(bytes)
}

fn as_form(text: &str) -> Option<Value> {
    let field = |pair: &str| {
        pair.split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace))
    };
    let whole = !text.is_empty() && text.split('&').all(field);
    whole.then(|| place::form(text.as_bytes()))
}

/// What a content looks like, without what it holds: known ids alone are told.
pub(crate) fn shape(known: &Known, content: &[u8]) -> String {
    let mut shape = shape_of(known, content, 0);
    if let Some((end, _)) = shape.char_indices().nth(300) {
        shape.truncate(end);
        shape.push('…');
    }
    shape
}

fn shape_of(known: &Known, bytes: &[u8], depth: usize) -> String {
    let text = std::str::from_utf8(bytes).ok().map(str::trim);
    if let Some(text) = text
        && let Some(message) = known.get(text)
    {
        return format!("{text:?} ({message})");
    }
    if depth < DEEPEST {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => {
                let json = shape_of_json(known, &value, depth);
                return if depth == 0 {
                    json
                } else {
                    format!("JSON text {json}")
                };
            }
            Ok(Value::String(text)) if depth == 0 => {
                return format!("JSON string: {}", shape_of(known, text.as_bytes(), 1));
            }
            _ => {}
        }
        if let Some((reading, unpacked)) = place::unpack(bytes) {
            return format!("{reading} of {}", shape_of(known, &unpacked, depth + 1));
        }
        if let Some(unpacked) = text.and_then(meaningful_base64) {
            return format!("base64 of {}", shape_of(known, &unpacked, depth + 1));
        }
        if let Some(fields) = text.and_then(as_form) {
            return format!("form {}", shape_of_json(known, &fields, depth));
        }
    }
    match text {
        Some(text) => format!("text of {} characters", text.chars().count()),
        None => format!("{} bytes", bytes.len()),
    }
}

fn shape_of_json(known: &Known, value: &Value, depth: usize) -> String {
    const MOST: usize = 12;
    if depth >= DEEPEST {
        return "…".to_owned();
    }
    let listed = |parts: Vec<String>, all: usize| {
        let more = if all > MOST { ", …" } else { "" };
        format!("{}{more}", parts.join(", "))
    };
    match value {
        Value::Object(members) => {
            let parts = members.iter().take(MOST).map(|(name, member)| {
                format!(
                    "{}: {}",
                    Value::from(name.as_str()),
                    shape_of_json(known, member, depth + 1)
                )
            });
            format!("{{{}}}", listed(parts.collect(), members.len()))
        }
        Value::Array(elements) => {
            let parts = elements
                .iter()
                .take(MOST)
                .map(|element| shape_of_json(known, element, depth + 1));
            format!("[{}]", listed(parts.collect(), elements.len()))
        }
        Value::String(text) => shape_of(known, text.as_bytes(), depth + 1),
        Value::Number(number) => match known.get(&number.to_string()) {
            Some(message) => format!("{number} ({message})"),
            None => "number".to_owned(),
        },
        Value::Bool(_) => "true or false".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde_json::json;

    use super::*;

    const JOB: &str = "0198c9ae-77aa-7d51-b0c8-1d4f0e3a2b11";

    fn known() -> Known {
        Known::from([
            (JOB.to_owned(), "M1".into()),
            ("M1".to_owned(), "M1".into()),
            ("7".to_owned(), "M2".into()),
        ])
    }

    fn places(root: &Root, content: &[u8]) -> Vec<String> {
        let found = ranked(find(&known(), root, content));
        found.into_iter().map(|find| find.place).collect()
    }

    fn gzip(content: &str) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(content.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn an_id_is_found_however_it_is_wrapped_and_the_place_reads_it_back() {
        let inner = json!({"job": JOB}).to_string();
        let celery = json!({"body": BASE64_STANDARD.encode(json!([[JOB], {}]).to_string())});
        let celery = BASE64_STANDARD.encode(celery.to_string());
        let packed = json!({"data": BASE64_STANDARD.encode(gzip(&inner))}).to_string();
        for (content, place) in [
            (inner.clone(), "{ body: $.job }"),
            (
                json!({"Message": inner}).to_string(),
                r#"{ body: "$.Message | json | $.job" }"#,
            ),
            (JOB.to_owned(), "{ body: $ }"),
            (json!(JOB).to_string(), "{ body: $ }"),
            (
                BASE64_STANDARD.encode(&inner),
                r#"{ body: "$ | base64 | json | $.job" }"#,
            ),
            (
                celery,
                r#"{ body: "$ | base64 | json | $.body | base64 | json | $[0][0]" }"#,
            ),
            (
                packed,
                r#"{ body: "$.data | base64 | gzip | json | $.job" }"#,
            ),
            (
                format!("kind=a&job={JOB}"),
                r#"{ body: "$ | form | $.job" }"#,
            ),
            (json!({"n": 7}).to_string(), "{ body: $.n }"),
        ] {
            assert_eq!(
                places(&Root::Body, content.as_bytes()),
                [place],
                "{content}"
            );
        }
        let attribute = Root::Named("attribute", "job".to_owned());
        assert_eq!(places(&attribute, JOB.as_bytes()), ["{ attribute: job }"]);
        assert_eq!(
            places(&attribute, inner.as_bytes()),
            [r#"{ attribute: "job | json | $.job" }"#]
        );
    }

    #[test]
    fn an_id_within_other_bytes_is_told_only_where_none_stands_alone() {
        let pickled = [
            b"\x80\x04\x95}\x94\x8c\x03job\x94\x8c$",
            JOB.as_bytes(),
            b"\x94s.",
        ]
        .concat();
        let found = find(&known(), &Root::Body, &pickled);
        assert_eq!(found.len(), 1);
        assert!(!found[0].exact);
        let wrapped = BASE64_STANDARD.encode(&pickled);
        let found = find(&known(), &Root::Body, wrapped.as_bytes());
        assert_eq!(found[0].place, r#"{ body: "$ | base64" }"#);
        let both = json!({"job": JOB, "note": format!("about {JOB}")}).to_string();
        assert_eq!(places(&Root::Body, both.as_bytes()), ["{ body: $.job }"]);
    }

    #[test]
    fn the_place_that_names_most_messages_comes_first() {
        let known = Known::from([("1".to_owned(), "M1".into()), ("2".to_owned(), "M2".into())]);
        let bodies = [json!({"v": 1, "job": 1}), json!({"v": 1, "job": 2})];
        let finds = bodies
            .iter()
            .flat_map(|body| find(&known, &Root::Body, body.to_string().as_bytes()))
            .collect();
        assert_eq!(ranked(finds)[0].place, "{ body: $.job }");
    }

    #[test]
    fn a_shape_tells_no_content() {
        let body = json!({"job": JOB, "secret": "hunter2", "n": 1, "more": {"a": [true]}});
        assert_eq!(
            shape(&known(), body.to_string().as_bytes()),
            format!(
                r#"{{"job": "{JOB}" (M1), "more": {{"a": [true or false]}}, "n": number, "secret": text of 7 characters}}"#
            )
        );
        let wrapped = BASE64_STANDARD.encode(json!({"a": 1}).to_string());
        assert_eq!(
            shape(&known(), wrapped.as_bytes()),
            r#"base64 of JSON text {"a": number}"#
        );
        assert_eq!(shape(&known(), b"\xff\x00"), "2 bytes");
    }

    #[test]
    fn nothing_is_searched_without_end() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(find(&known(), &Root::Body, deep.as_bytes()).is_empty());
        assert!(shape(&known(), deep.as_bytes()).starts_with("text of"));
        let mut wrapped = JOB.to_owned();
        for _ in 0..20 {
            wrapped = BASE64_STANDARD.encode(wrapped);
        }
        assert!(find(&known(), &Root::Body, wrapped.as_bytes()).is_empty());
    }
}
