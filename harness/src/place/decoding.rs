//! Reads ids out of contents as a pipeline of the manifest says.

use std::io::Read as _;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use serde_json::{Map, Value};

use super::decode;
use crate::manifest::{PathStep, Pipeline, Reading};

/// More is never unpacked: a few bytes can stand for gigabytes.
const MOST_UNPACKED: u64 = 16 * 1024 * 1024;

/// What stands between two steps of a pipeline.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Bytes(Vec<u8>),
    Json(Value),
}

/// The values that a pipeline finds in a content: scalars as text, those of an array each
/// for itself. Nothing where a step finds nothing.
pub(super) fn read(content: &[u8], pipeline: &Pipeline) -> Vec<String> {
    let mut contents = vec![Content::Bytes(content.to_vec())];
    for reading in &pipeline.0 {
        contents = contents
            .into_iter()
            .flat_map(|content| step(content, reading))
            .collect();
    }
    contents.into_iter().flat_map(texts).collect()
}

/// The same for a content that is a plain text: it is what it is, also where it looks
/// like JSON.
pub(super) fn read_text(text: &str, pipeline: &Pipeline) -> Vec<String> {
    if pipeline.0.is_empty() {
        return vec![text.to_owned()];
    }
    read(text.as_bytes(), pipeline)
}

fn step(content: Content, reading: &Reading) -> Vec<Content> {
    match reading {
        Reading::Select(path) => select(content, path),
        Reading::Json => json(content).map(Content::Json).into_iter().collect(),
        Reading::Base64 => unpacked(content, |bytes| unbase64(&bytes)),
        Reading::Gzip => unpacked(content, |bytes| inflate(MultiGzDecoder::new(&bytes[..]))),
        Reading::Zlib => unpacked(content, |bytes| inflate(ZlibDecoder::new(&bytes[..]))),
        Reading::Form => match bytes(content) {
            Some(bytes) => vec![Content::Json(form(&bytes))],
            None => Vec::new(),
        },
    }
}

fn unpacked(content: Content, unpack: impl FnOnce(Vec<u8>) -> Option<Vec<u8>>) -> Vec<Content> {
    let unpacked = bytes(content).and_then(unpack);
    unpacked.map(Content::Bytes).into_iter().collect()
}

/// `$` alone is the content as it stands; a JSON string stands for its text.
fn select(content: Content, path: &[PathStep]) -> Vec<Content> {
    let value = match content {
        Content::Json(value) => value,
        Content::Bytes(bytes) => match serde_json::from_slice(&bytes) {
            Ok(value) if !path.is_empty() || matches!(value, Value::String(_)) => value,
            _ if path.is_empty() => return vec![Content::Bytes(bytes)],
            _ => return Vec::new(),
        },
    };
    lookup_all(&value, path)
        .into_iter()
        .map(|found| Content::Json(found.clone()))
        .collect()
}

/// All values at a path.
pub(super) fn lookup_all<'v>(value: &'v Value, path: &[PathStep]) -> Vec<&'v Value> {
    let mut found = vec![value];
    for step in path {
        found = found
            .into_iter()
            .flat_map(|value| -> Vec<&Value> {
                match step {
                    PathStep::Member(name) => value.get(name).into_iter().collect(),
                    PathStep::Element(index) => value.get(index).into_iter().collect(),
                    PathStep::Each => value.as_array().into_iter().flatten().collect(),
                }
            })
            .collect();
    }
    found
}

/// A scalar as text: a string as it is, a number or a truth value as JSON writes it.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn texts(content: Content) -> Vec<String> {
    match content {
        Content::Json(Value::Array(elements)) => elements.iter().filter_map(scalar).collect(),
        Content::Json(value) => scalar(&value).into_iter().collect(),
        // `$` alone: a body that is a bare value of JSON reads like one.
        Content::Bytes(bytes) => match serde_json::from_slice(&bytes) {
            Ok(value @ (Value::Array(_) | Value::Object(_) | Value::Null)) => {
                texts(Content::Json(value))
            }
            _ => String::from_utf8(bytes)
                .ok()
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
                .into_iter()
                .collect(),
        },
    }
}

fn json(content: Content) -> Option<Value> {
    match content {
        Content::Json(Value::String(text)) => serde_json::from_str(&text).ok(),
        Content::Json(value) => Some(value),
        Content::Bytes(bytes) => serde_json::from_slice(&bytes).ok(),
    }
}

fn bytes(content: Content) -> Option<Vec<u8>> {
    match content {
        Content::Bytes(bytes) => Some(bytes),
        Content::Json(value) => scalar(&value).map(String::into_bytes),
    }
}

/// Base64 of either alphabet, folded over lines or not, padded or not.
pub(crate) fn unbase64(text: &[u8]) -> Option<Vec<u8>> {
    let plain = |alphabet| {
        let config = GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true);
        GeneralPurpose::new(alphabet, config)
    };
    let text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    if text.is_empty() {
        return None;
    }
    let standard = plain(&alphabet::STANDARD).decode(&text);
    standard
        .or_else(|_| plain(&alphabet::URL_SAFE).decode(&text))
        .ok()
}

fn inflate(packed: impl std::io::Read) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    let read = packed.take(MOST_UNPACKED + 1).read_to_end(&mut unpacked);
    let whole = read.is_ok() && unpacked.len() as u64 <= MOST_UNPACKED;
    whole.then_some(unpacked)
}

/// What gzip or zlib packed; nothing where it is neither.
pub(crate) fn unpack(packed: &[u8]) -> Option<(Reading, Vec<u8>)> {
    match packed {
        [0x1f, 0x8b, ..] => Some((Reading::Gzip, inflate(MultiGzDecoder::new(packed))?)),
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
            Some((Reading::Zlib, inflate(ZlibDecoder::new(packed))?))
        }
        _ => None,
    }
}

/// Fields of a form; one that stands several times is an array.
pub(crate) fn form(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let mut fields = Map::new();
    for pair in text.trim().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |part: &str| decode(&part.replace('+', " "));
        let value = Value::String(plain(value));
        match fields.entry(plain(name)) {
            serde_json::map::Entry::Vacant(entry) => {
                entry.insert(value);
            }
            serde_json::map::Entry::Occupied(mut entry) => match entry.get_mut() {
                Value::Array(values) => values.push(value),
                first => *first = Value::Array(vec![first.take(), value]),
            },
        }
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    use serde_json::json;

    use super::*;

    fn body(readings: Vec<Reading>) -> Pipeline {
        Pipeline(readings)
    }

    fn at(path: &[&str]) -> Reading {
        Reading::Select(
            path.iter()
                .map(|name| PathStep::Member((*name).to_owned()))
                .collect(),
        )
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn base64(content: &[u8]) -> String {
        base64::engine::general_purpose::STANDARD.encode(content)
    }

    #[test]
    fn json_within_json_is_read_through() {
        let envelope = json!({"Message": json!({"job": 7}).to_string()}).to_string();
        let pipeline = body(vec![at(&["Message"]), Reading::Json, at(&["job"])]);
        assert_eq!(read(envelope.as_bytes(), &pipeline), ["7"]);
    }

    #[test]
    fn a_whole_body_is_decoded_in_any_nesting() {
        let inner = json!({"headers": {"id": "j"}}).to_string();
        let pipeline = body(vec![
            at(&[]),
            Reading::Base64,
            Reading::Json,
            at(&["headers", "id"]),
        ]);
        let plain = base64(inner.as_bytes());
        assert_eq!(read(plain.as_bytes(), &pipeline), ["j"]);
        assert_eq!(read(json!(plain).to_string().as_bytes(), &pipeline), ["j"]);
        let zipped = json!({"data": base64(&gzip(inner.as_bytes()))}).to_string();
        let pipeline = body(vec![
            at(&["data"]),
            Reading::Base64,
            Reading::Gzip,
            Reading::Json,
            at(&["headers", "id"]),
        ]);
        assert_eq!(read(zipped.as_bytes(), &pipeline), ["j"]);
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(inner.as_bytes()).unwrap();
        let pipeline = body(vec![
            at(&[]),
            Reading::Zlib,
            Reading::Json,
            at(&["headers", "id"]),
        ]);
        assert_eq!(read(&packer.finish().unwrap(), &pipeline), ["j"]);
    }

    #[test]
    fn base64_is_read_in_every_alphabet_and_padding() {
        for text in ["+/8=", "-_8=", "+/8", "-_8", "+/\n8="] {
            assert_eq!(unbase64(text.as_bytes()), Some(vec![0xfb, 0xff]), "{text}");
        }
        assert_eq!(unbase64(b"{\"a\":1}"), None);
        assert_eq!(unbase64(b""), None);
    }

    #[test]
    fn a_list_names_each_of_its_elements() {
        let content = json!({"jobs": [{"id": 1}, {"id": 2}], "ids": ["a", "b", null]});
        let content = content.to_string().into_bytes();
        let each = Reading::Select(vec![
            PathStep::Member("jobs".to_owned()),
            PathStep::Each,
            PathStep::Member("id".to_owned()),
        ]);
        assert_eq!(read(&content, &body(vec![each])), ["1", "2"]);
        assert_eq!(read(&content, &body(vec![at(&["ids"])])), ["a", "b"]);
    }

    #[test]
    fn a_form_is_a_table_of_its_fields() {
        let pipeline = body(vec![at(&[]), Reading::Form, at(&["job id"])]);
        assert_eq!(read(b"a=1&job+id=x%2Fy", &pipeline), ["x/y"]);
        let pipeline = body(vec![at(&[]), Reading::Form, at(&["j"])]);
        assert_eq!(read(b"j=1&j=2&j=3", &pipeline), ["1", "2", "3"]);
    }

    #[test]
    fn what_cannot_be_read_is_nothing() {
        let all = body(vec![
            at(&[]),
            Reading::Base64,
            Reading::Gzip,
            Reading::Json,
            at(&["a"]),
        ]);
        for content in [&b"{}"[..], b"", b"\xff\xfe", b"null", b"[1]", b"AAAA"] {
            assert!(read(content, &all).is_empty(), "{content:?}");
        }
    }

    #[test]
    fn what_would_unpack_without_end_is_not_unpacked() {
        let bomb = gzip(&vec![0; usize::try_from(MOST_UNPACKED).unwrap() + 1]);
        assert!(unpack(&bomb).is_none());
        let allowed = gzip(&vec![0; usize::try_from(MOST_UNPACKED).unwrap()]);
        assert!(unpack(&allowed).is_some());
    }

    #[test]
    fn a_body_that_is_a_bare_value_reads_like_one() {
        let whole = body(vec![at(&[])]);
        assert_eq!(read(b"\"j\"", &whole), ["j"]);
        assert_eq!(read(b" j\n", &whole), ["j"]);
        assert_eq!(read(b"007", &whole), ["007"]);
        assert_eq!(read(b"[\"a\",\"b\"]", &whole), ["a", "b"]);
        assert!(read(b"{}", &whole).is_empty());
    }
}
