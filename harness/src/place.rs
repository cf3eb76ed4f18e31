//! Where a job's id or a message's name stands in a call, looked up: in bodies, headers
//! and attributes, as they are or encoded, and in segments of a path.

mod decoding;

use serde_json::Value;

pub(crate) use self::decoding::{form, unbase64, unpack};

use crate::manifest::{PathStep, Place};
use crate::tap::HttpRequest;

/// The segments of a path that a pattern named, decoded, in the order of the pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures(Vec<(String, String)>);

impl Captures {
    /// The segment that the pattern named `{name}`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, segment)| segment.as_str())
    }

    /// Whether the pattern named no segment.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Holds a path (without its query) against a pattern.
///
/// A segment `{job}` or `{message}` of the pattern takes one segment of the path that
/// is not empty, `*` takes any one segment, any other stands for itself. The pattern
/// `*` alone takes every path.
pub fn match_path(pattern: &str, path: &str) -> Option<Captures> {
    if pattern == "*" {
        return Some(Captures::default());
    }
    let mut captures = Vec::new();
    let mut segments = path.split('/');
    for expected in pattern.split('/') {
        let segment = segments.next()?;
        let name = expected
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        match name {
            Some(_) if segment.is_empty() => return None,
            Some(name) => captures.push((name.to_owned(), decode(segment))),
            None if expected == "*" || expected == segment => {}
            None if decode(expected) == decode(segment) => {}
            None => return None,
        }
    }
    segments.next().is_none().then_some(Captures(captures))
}

/// What a JSON value holds at `path`: a string as it is, a number or a truth value as
/// JSON writes it. Nothing for null, for objects and arrays, and where the path leads
/// nowhere.
pub fn lookup_body(body: &Value, path: &[PathStep]) -> Option<String> {
    let found = decoding::lookup_all(body, path).into_iter().next();
    found.and_then(decoding::scalar)
}

/// The first header with this name (in lower case, as calls record them).
pub fn lookup_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
}

/// What an HTTP request holds at a place; a list holds several values.
///
/// A [`Place::Path`] is either a pattern of its own (`/files/{job}`), which then names
/// one segment, or the name of a segment (`message`) in the first of `patterns` that
/// takes the request's path and names it: the routes of the dependency, say.
pub fn lookup<'a>(
    place: &Place,
    request: &HttpRequest,
    patterns: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    match place {
        Place::Body(pipeline) => decoding::read(&request.body, pipeline),
        Place::Header(name, pipeline) => lookup_header(&request.headers, name)
            .map(|value| decoding::read_text(value, pipeline))
            .unwrap_or_default(),
        Place::Attribute(..) | Place::Key(_) => Vec::new(),
        Place::Path(pattern) if pattern.starts_with('/') => {
            let captures = match_path(pattern, &request.path);
            let named = captures
                .as_ref()
                .and_then(|captures| captures.get("job").or_else(|| captures.get("message")));
            named.map(str::to_owned).into_iter().collect()
        }
        Place::Path(name) => patterns
            .into_iter()
            .filter_map(|pattern| match_path(pattern, &request.path))
            .find_map(|captures| captures.get(name).map(str::to_owned))
            .into_iter()
            .collect(),
    }
}

/// What a queue message holds at a place: in its body (`Body` of a received one,
/// `MessageBody` of one that is sent) or in an attribute.
pub fn lookup_message(place: &Place, message: &Value) -> Vec<String> {
    match place {
        Place::Body(pipeline) => message_body(message)
            .map(|body| decoding::read(body.as_bytes(), pipeline))
            .unwrap_or_default(),
        Place::Attribute(name, pipeline) => attribute(message, name)
            .map(|(value, binary)| {
                if binary {
                    decoding::read(&unbase64(value.as_bytes()).unwrap_or_default(), pipeline)
                } else {
                    decoding::read_text(value, pipeline)
                }
            })
            .unwrap_or_default(),
        Place::Header(..) | Place::Path(_) | Place::Key(_) => Vec::new(),
    }
}

/// What a content holds for a place that is there by itself: an element of a list, the
/// value of a field.
pub(crate) fn lookup_content(place: &Place, content: &[u8]) -> Vec<String> {
    match place {
        Place::Attribute(_, pipeline) if pipeline.0.is_empty() => {
            vec![String::from_utf8_lossy(content).into_owned()]
        }
        Place::Body(pipeline) | Place::Attribute(_, pipeline) => decoding::read(content, pipeline),
        Place::Header(..) | Place::Path(_) | Place::Key(_) => Vec::new(),
    }
}

/// The body of a queue message.
pub(crate) fn message_body(message: &Value) -> Option<&str> {
    let mut bodies = ["Body", "MessageBody"].iter();
    bodies.find_map(|member| message.get(member)?.as_str())
}

/// All message attributes by name, as bytes.
pub(crate) fn attributes(message: &Value) -> Vec<(&str, Vec<u8>)> {
    let all = message.get("MessageAttributes").and_then(Value::as_object);
    let names = all.into_iter().flat_map(|all| all.keys());
    names
        .filter_map(|name| {
            let (value, binary) = attribute(message, name)?;
            let bytes = if binary {
                unbase64(value.as_bytes())?
            } else {
                value.as_bytes().to_vec()
            };
            Some((name.as_str(), bytes))
        })
        .collect()
}

/// An attribute's value, and whether it is base64 of bytes. The queue's own attributes
/// (`MessageGroupId`) are found where no message attribute has the name.
fn attribute<'m>(message: &'m Value, name: &str) -> Option<(&'m str, bool)> {
    let own = message
        .get("MessageAttributes")
        .and_then(|all| all.get(name));
    if let Some(own) = own {
        let text = own.get("StringValue").and_then(Value::as_str);
        let bytes = || own.get("BinaryValue").and_then(Value::as_str);
        return text
            .map(|text| (text, false))
            .or_else(|| bytes().map(|bytes| (bytes, true)));
    }
    let system = message.get("Attributes").and_then(|all| all.get(name));
    let sent = || message.get(name).filter(|_| name.starts_with("Message"));
    let text = system.or_else(sent)?.as_str()?;
    Some((text, false))
}

/// Undoes percent-encoding. What is no encoding stays as it stands.
pub(crate) fn decode(segment: &str) -> String {
    if !segment.contains('%') {
        return segment.to_owned();
    }
    let mut decoded = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let digit = |at: usize| {
            tail.get(at)
                .and_then(|&digit| char::from(digit).to_digit(16))
        };
        if let (b'%', Some(high), Some(low)) = (byte, digit(0), digit(1)) {
            // Two hexadecimal digits are always one byte.
            decoded.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
            rest = &tail[2..];
        } else {
            decoded.push(byte);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;
    use crate::manifest::{Pipeline, Reading};

    fn member(name: &str) -> PathStep {
        PathStep::Member(name.to_owned())
    }

    fn request(path: &str) -> HttpRequest {
        HttpRequest {
            method: "GET".to_owned(),
            path: path.to_owned(),
            query: None,
            headers: vec![("x-job".to_owned(), "7".to_owned())],
            body: Bytes::from_static(br#"{"job":{"ids":["a",12]}}"#),
            is_cut: false,
        }
    }

    #[test]
    fn a_pattern_takes_whole_segments_only() {
        let captures = match_path("/files/{message}/*", "/files/M3/raw").unwrap();
        assert_eq!(captures.get("message"), Some("M3"));
        assert_eq!(captures.get("job"), None);
        for path in [
            "/files/M3",
            "/files/M3/raw/more",
            "/files//raw",
            "/other/M3/raw",
            "files/M3/raw",
        ] {
            assert_eq!(match_path("/files/{message}/*", path), None, "{path}");
        }
        assert!(match_path("*", "/any/path").unwrap().is_empty());
        assert!(match_path("/", "/").is_some());
    }

    #[test]
    fn a_captured_segment_is_decoded() {
        let captures = match_path("/files/{message}", "/files/M%203%2f%zz%C3%A4%").unwrap();
        assert_eq!(captures.get("message"), Some("M 3/%zzä%"));
        assert!(match_path("/a b", "/a%20b").is_some());
    }

    #[test]
    fn a_json_path_finds_scalars_as_text() {
        let body = json!({"job": {"ids": ["a", 12, true, null]}});
        let at = |index| vec![member("job"), member("ids"), PathStep::Element(index)];
        assert_eq!(lookup_body(&body, &at(0)).as_deref(), Some("a"));
        assert_eq!(lookup_body(&body, &at(1)).as_deref(), Some("12"));
        assert_eq!(lookup_body(&body, &at(2)).as_deref(), Some("true"));
        assert_eq!(lookup_body(&body, &at(3)), None);
        assert_eq!(lookup_body(&body, &at(4)), None);
        assert_eq!(lookup_body(&body, &[member("job")]), None);
        assert_eq!(lookup_body(&json!("whole"), &[]).as_deref(), Some("whole"));
    }

    #[test]
    fn every_kind_of_place_is_found_in_a_request() {
        let request = request("/files/M3");
        let find = |place| lookup(&place, &request, ["/other/{message}", "/files/{message}"]);
        let path = vec![member("job"), member("ids"), PathStep::Element(0)];
        let body = Pipeline(vec![Reading::Select(path)]);
        let header = |name: &str| Place::Header(name.to_owned(), Pipeline::default());
        assert_eq!(find(Place::Body(body)), ["a"]);
        assert_eq!(find(header("x-job")), ["7"]);
        assert!(find(header("x-other")).is_empty());
        assert_eq!(find(Place::Path("/files/{job}".to_owned())), ["M3"]);
        assert_eq!(find(Place::Path("message".to_owned())), ["M3"]);
        assert!(find(Place::Path("job".to_owned())).is_empty());
    }

    #[test]
    fn a_queue_message_holds_ids_in_its_body_and_in_its_attributes() {
        let bytes = |text: &str| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, text);
        let message = json!({
            "Body": r#"{"job": 7}"#,
            "Attributes": {"MessageGroupId": "g"},
            "MessageAttributes": {
                "job": {"DataType": "String", "StringValue": "7"},
                "raw": {"DataType": "Binary", "BinaryValue": bytes("8")},
                "context": {"DataType": "String", "StringValue": r#"{"job": 9}"#},
            },
        });
        let find = |name: &str, readings: &[Reading]| {
            let pipeline = Pipeline(readings.to_vec());
            lookup_message(&Place::Attribute(name.to_owned(), pipeline), &message)
        };
        assert_eq!(find("job", &[]), ["7"]);
        assert_eq!(find("raw", &[]), ["8"]);
        let within = [Reading::Json, Reading::Select(vec![member("job")])];
        assert_eq!(find("context", &within), ["9"]);
        assert_eq!(find("MessageGroupId", &[]), ["g"]);
        assert!(find("other", &[]).is_empty());
        let body = Place::Body(Pipeline(vec![Reading::Select(vec![member("job")])]));
        assert_eq!(lookup_message(&body, &message), ["7"]);
        let sent = json!({"MessageBody": r#"{"job": 7}"#, "MessageGroupId": "g"});
        assert_eq!(lookup_message(&body, &sent), ["7"]);
    }
}
