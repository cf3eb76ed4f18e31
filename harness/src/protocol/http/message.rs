//! HTTP/1.1 messages, whole, and their form on the wire.
//!
//! A message keeps every header as it was read. What concerns only one of the two
//! connections (hop-by-hop headers, framing) is left out when the message is written
//! to the other, and replaced by what holds there.

use bytes::Bytes;

use crate::tap::{HttpReply, HttpRequest};

/// Headers with their names as written, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(pub(crate) Vec<(String, Vec<u8>)>);

/// Headers that never pass from one connection to the other.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "expect",
    "content-length",
];

impl Headers {
    /// The values under a name, of any case.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let known = move |known: &str| known.eq_ignore_ascii_case(name);
        self.0
            .iter()
            .filter(move |(name, _)| known(name))
            .map(|(_, value)| value.as_slice())
    }

    /// The first value under a name, if it is text.
    pub(crate) fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name)
            .next()
            .and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The comma-separated words under a name, in lower case.
    pub(crate) fn words<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> {
        self.all(name)
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(|word| String::from_utf8_lossy(word).trim().to_ascii_lowercase())
            .filter(|word| !word.is_empty())
    }

    /// Takes all under a name out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// Adds one.
    pub(crate) fn push(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// As calls record them.
    pub(crate) fn recorded(&self) -> Vec<(String, String)> {
        self.0
            .iter()
            .map(|(name, value)| {
                (
                    name.to_ascii_lowercase(),
                    String::from_utf8_lossy(value).into_owned(),
                )
            })
            .collect()
    }

    fn from_recorded(headers: &[(String, String)]) -> Self {
        let owned = |(name, value): &(String, String)| (name.clone(), value.clone().into_bytes());
        Self(headers.iter().map(owned).collect())
    }

    /// Writes all that may pass on to the other connection.
    fn write_end_to_end(&self, wire: &mut Vec<u8>) {
        let named: Vec<String> = self.words("connection").collect();
        for (name, value) in &self.0 {
            let lower = name.to_ascii_lowercase();
            if !HOP_BY_HOP.contains(&lower.as_str()) && !named.contains(&lower) {
                write_header(wire, name, value);
            }
        }
    }
}

fn write_header(wire: &mut Vec<u8>, name: &str, value: &[u8]) {
    wire.extend_from_slice(name.as_bytes());
    wire.extend_from_slice(b": ");
    wire.extend_from_slice(value);
    wire.extend_from_slice(b"\r\n");
}

/// The minor version of HTTP/1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// HTTP/1.0
    Ten,
    /// HTTP/1.1
    #[default]
    Eleven,
}

impl Version {
    /// Whether a message of this version leaves its connection open.
    pub(crate) fn keeps_alive(self, headers: &Headers) -> bool {
        let says = |word: &str| headers.words("connection").any(|said| said == word);
        match self {
            Self::Eleven => !says("close"),
            Self::Ten => says("keep-alive") && !says("close"),
        }
    }
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestMessage {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) version: Version,
    pub(crate) headers: Headers,
    pub(crate) body: Bytes,
    /// Whether the request announced a body, be it an empty one.
    pub(crate) announced_body: bool,
}

impl RequestMessage {
    pub(crate) fn keeps_alive(&self) -> bool {
        self.version.keeps_alive(&self.headers)
    }

    /// Everything up to the body, as it goes to the dependency. Connections live as
    /// long on that side as on this one, so the wish to close goes along.
    pub(crate) fn head(&self) -> Vec<u8> {
        self.head_with(Some(self.body.len()))
    }

    /// The same for a body of this length, or in chunks if none was told.
    pub(crate) fn head_with(&self, length: Option<usize>) -> Vec<u8> {
        let mut wire = Vec::with_capacity(512);
        wire.extend_from_slice(self.method.as_bytes());
        wire.push(b' ');
        wire.extend_from_slice(self.target.as_bytes());
        let version: &[u8] = match self.version {
            Version::Ten => b" HTTP/1.0\r\n",
            Version::Eleven => b" HTTP/1.1\r\n",
        };
        wire.extend_from_slice(version);
        self.headers.write_end_to_end(&mut wire);
        match length {
            Some(length) if self.announced_body || length > 0 => {
                write_header(&mut wire, "content-length", length.to_string().as_bytes());
            }
            Some(_) => {}
            None => write_header(&mut wire, "transfer-encoding", b"chunked"),
        }
        match (self.version, self.keeps_alive()) {
            (Version::Eleven, false) => write_header(&mut wire, "connection", b"close"),
            (Version::Ten, true) => write_header(&mut wire, "connection", b"keep-alive"),
            (Version::Eleven, true) | (Version::Ten, false) => {}
        }
        wire.extend_from_slice(b"\r\n");
        wire
    }

    /// As calls record it.
    pub(crate) fn recorded(&self) -> HttpRequest {
        let (path, query) = split_target(&self.target);
        HttpRequest {
            method: self.method.clone(),
            path,
            query,
            headers: self.headers.recorded(),
            body: self.body.clone(),
            is_cut: false,
        }
    }
}

/// The path and the query of a request's target; an absolute target loses its origin.
fn split_target(target: &str) -> (String, Option<String>) {
    let local = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
            rest.find(['/', '?']).map_or("/", |at| &rest[at..])
        }
        _ => target,
    };
    match local.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (local.to_owned(), None),
    }
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResponseMessage {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) headers: Headers,
    pub(crate) body: Bytes,
    /// Whether the connection it came on stays open after it.
    pub(crate) keeps_alive: bool,
}

impl ResponseMessage {
    /// A response of the harness's own.
    pub(crate) fn new(status: u16, media_type: &str, body: impl Into<Bytes>) -> Self {
        let mut headers = Headers::default();
        if !media_type.is_empty() {
            headers.push("content-type", media_type);
        }
        Self {
            status,
            reason: reason_phrase(status).to_owned(),
            headers,
            body: body.into(),
            keeps_alive: true,
        }
    }

    /// A response that says in plain words why something was refused, and closes.
    pub(crate) fn refusal(status: u16, text: &str) -> Self {
        let closing = Self::new(status, "text/plain; charset=utf-8", format!("{text}\n"));
        Self {
            keeps_alive: false,
            ..closing
        }
    }

    /// What a director wants the client to get.
    pub(crate) fn from_recorded(reply: &HttpReply) -> Self {
        Self {
            status: reply.status,
            reason: reason_phrase(reply.status).to_owned(),
            headers: Headers::from_recorded(&reply.headers),
            body: reply.body.clone(),
            keeps_alive: true,
        }
    }

    /// As calls record it.
    pub(crate) fn recorded(&self) -> HttpReply {
        HttpReply {
            status: self.status,
            headers: self.headers.recorded(),
            body: self.body.clone(),
        }
    }

    /// The response as the client gets it: the head, and the body that follows it.
    pub(crate) fn wire(&self, request: &RequestMessage, keeps_alive: bool) -> (Vec<u8>, Bytes) {
        let mut wire = Vec::with_capacity(512);
        wire.extend_from_slice(format!("HTTP/1.1 {} {}\r\n", self.status, self.reason).as_bytes());
        self.headers.write_end_to_end(&mut wire);
        let body = if has_no_body(self.status) || request.method == "HEAD" {
            // These announce the length that the body would have had.
            if let (false, Some(length)) = (self.status == 204, self.headers.get("content-length"))
            {
                write_header(&mut wire, "content-length", length.as_bytes());
            }
            Bytes::new()
        } else {
            write_header(
                &mut wire,
                "content-length",
                self.body.len().to_string().as_bytes(),
            );
            self.body.clone()
        };
        match (request.version, keeps_alive) {
            (_, false) => write_header(&mut wire, "connection", b"close"),
            (Version::Ten, true) => write_header(&mut wire, "connection", b"keep-alive"),
            (Version::Eleven, true) => {}
        }
        wire.extend_from_slice(b"\r\n");
        (wire, body)
    }
}

/// How a body that is passed on as it comes is told from what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimited {
    /// By its length.
    Length(usize),
    /// By chunks.
    Chunks,
    /// By the end of the connection.
    End,
}

impl ResponseMessage {
    /// The head of a response whose body is passed on as it comes.
    pub(crate) fn begun(
        &self,
        request: &RequestMessage,
        keeps_alive: bool,
        delimited: Delimited,
    ) -> Vec<u8> {
        let mut wire = Vec::with_capacity(512);
        wire.extend_from_slice(format!("HTTP/1.1 {} {}\r\n", self.status, self.reason).as_bytes());
        self.headers.write_end_to_end(&mut wire);
        match delimited {
            Delimited::Length(length) => {
                write_header(&mut wire, "content-length", length.to_string().as_bytes());
            }
            Delimited::Chunks => write_header(&mut wire, "transfer-encoding", b"chunked"),
            Delimited::End => {}
        }
        match (request.version, keeps_alive) {
            (_, false) => write_header(&mut wire, "connection", b"close"),
            (Version::Ten, true) => write_header(&mut wire, "connection", b"keep-alive"),
            (Version::Eleven, true) => {}
        }
        wire.extend_from_slice(b"\r\n");
        wire
    }
}

/// Whether responses with this status end with their head.
pub(crate) fn has_no_body(status: u16) -> bool {
    status < 200 || status == 204 || status == 304
}

fn reason_phrase(status: u16) -> &'static str {
    hyper::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Version, headers: &[(&str, &str)]) -> RequestMessage {
        let mut message = RequestMessage {
            method: "POST".to_owned(),
            target: "/a?b=c".to_owned(),
            version,
            headers: Headers::default(),
            body: Bytes::from_static(b"xyz"),
            announced_body: true,
        };
        for (name, value) in headers {
            message.headers.push(name, *value);
        }
        message
    }

    #[test]
    fn hop_by_hop_headers_stay_on_their_connection() {
        let message = request(
            Version::Eleven,
            &[
                ("Host", "tap:1"),
                ("Connection", "keep-alive, X-Secret"),
                ("X-Secret", "1"),
                ("TE", "trailers"),
                ("Transfer-Encoding", "chunked"),
                ("Expect", "100-continue"),
                ("Upgrade", "h2c"),
                ("X-Kept", "yes"),
            ],
        );
        let head = String::from_utf8(message.head()).unwrap();
        assert_eq!(
            head,
            "POST /a?b=c HTTP/1.1\r\nHost: tap:1\r\nX-Kept: yes\r\ncontent-length: 3\r\n\r\n"
        );
    }

    #[test]
    fn the_wish_to_close_goes_along() {
        let closing = request(Version::Eleven, &[("Connection", "close")]);
        assert!(
            String::from_utf8(closing.head())
                .unwrap()
                .contains("connection: close\r\n")
        );
        let old = request(Version::Ten, &[]);
        assert!(!old.keeps_alive());
        assert!(
            String::from_utf8(old.head())
                .unwrap()
                .starts_with("POST /a?b=c HTTP/1.0\r\n")
        );
        let kept = request(Version::Ten, &[("connection", "Keep-Alive")]);
        assert!(kept.keeps_alive());
        assert!(
            String::from_utf8(kept.head())
                .unwrap()
                .contains("connection: keep-alive\r\n")
        );
    }

    #[test]
    fn a_reply_to_head_keeps_the_length_and_has_no_body() {
        let mut head = request(Version::Eleven, &[]);
        head.method = "HEAD".to_owned();
        let mut response = ResponseMessage::new(200, "", "");
        response.headers.push("Content-Length", "42");
        let (wire, body) = response.wire(&head, true);
        assert_eq!(wire, b"HTTP/1.1 200 OK\r\ncontent-length: 42\r\n\r\n");
        assert!(body.is_empty());
    }

    #[test]
    fn an_absolute_target_is_recorded_by_its_path() {
        let split = |target: &str| split_target(target);
        assert_eq!(
            split("http://host:1/a/b?c"),
            ("/a/b".to_owned(), Some("c".to_owned()))
        );
        assert_eq!(split("http://host"), ("/".to_owned(), None));
        assert_eq!(
            split("/a?u=http://b/c"),
            ("/a".to_owned(), Some("u=http://b/c".to_owned()))
        );
        assert_eq!(split("*"), ("*".to_owned(), None));
    }
}
