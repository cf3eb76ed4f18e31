//! Where a job's id or a message's name stands in a call, looked up: JSON paths,
//! headers, and segments of a path.

use serde_json::Value;

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
    let mut value = body;
    for step in path {
        value = match step {
            PathStep::Member(name) => value.get(name)?,
            PathStep::Element(index) => value.get(index)?,
        };
    }
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The first header with this name (in lower case, as calls record them).
pub fn lookup_header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
}

/// What an HTTP request holds at a place.
///
/// A [`Place::Path`] is either a pattern of its own (`/files/{job}`), which then names
/// one segment, or the name of a segment (`message`) in the first of `patterns` that
/// takes the request's path and names it: the routes of the dependency, say.
pub fn lookup<'a>(
    place: &Place,
    request: &HttpRequest,
    patterns: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    match place {
        Place::Body(path) => lookup_body(&serde_json::from_slice(&request.body).ok()?, path),
        Place::Header(name) => lookup_header(&request.headers, name).map(str::to_owned),
        Place::Path(pattern) if pattern.starts_with('/') => {
            let captures = match_path(pattern, &request.path)?;
            captures
                .get("job")
                .or_else(|| captures.get("message"))
                .map(str::to_owned)
        }
        Place::Path(name) => patterns
            .into_iter()
            .filter_map(|pattern| match_path(pattern, &request.path))
            .find_map(|captures| captures.get(name).map(str::to_owned)),
    }
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
        let body = vec![member("job"), member("ids"), PathStep::Element(0)];
        assert_eq!(find(Place::Body(body)).as_deref(), Some("a"));
        assert_eq!(
            find(Place::Header("x-job".to_owned())).as_deref(),
            Some("7")
        );
        assert_eq!(find(Place::Header("x-other".to_owned())), None);
        assert_eq!(
            find(Place::Path("/files/{job}".to_owned())).as_deref(),
            Some("M3")
        );
        assert_eq!(
            find(Place::Path("message".to_owned())).as_deref(),
            Some("M3")
        );
        assert_eq!(find(Place::Path("job".to_owned())), None);
    }
}
