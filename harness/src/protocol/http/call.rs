//! What a tap saw of one request and of its response, as plain values.

use bytes::Bytes;

use crate::history::Said;
use crate::place;
use crate::protocol::{Answers, Asks, ORDERED};
use crate::tap::{Reply, Request};

/// An HTTP request, whole or as far as it is held.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path without the query, as sent.
    pub path: String,
    /// The query without its `?`.
    pub query: Option<String>,
    /// Header names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub body: Bytes,
    /// Whether there is more of the body than is held: it is passed on as it comes.
    pub is_cut: bool,
}

/// An HTTP response, whole or as far as it is held.
#[derive(Clone, Debug)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Asks for HttpRequest {
    fn summary(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn actions(&self) -> Vec<String> {
        vec![self.method.clone()]
    }

    fn said(&self) -> Said {
        Said {
            statements: None,
            content: self.body.to_vec(),
        }
    }

    fn is_only(&self, only: &str) -> bool {
        let (method, path) = only.split_once(' ').unwrap_or(("*", only));
        (method == "*" || method == self.method) && place::match_path(path, &self.path).is_some()
    }

    fn refusal(&self, code: &str) -> Result<Reply, String> {
        Ok(Reply::Http(HttpReply {
            status: code
                .parse()
                .map_err(|_| format!("`{code}` is no status code"))?,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: Bytes::from(format!("{ORDERED} {code}\n")),
        }))
    }
}

impl Answers for HttpReply {
    fn summary(&self) -> String {
        self.status.to_string()
    }

    fn status(&self) -> Option<u16> {
        Some(self.status)
    }

    fn content(&self) -> Vec<u8> {
        self.body.to_vec()
    }

    fn is_success(&self) -> bool {
        self.status < 400
    }

    fn took_place(&self) -> bool {
        true
    }

    fn wrote(&self, request: &Request) -> bool {
        let Request::Http(request) = request else {
            return false;
        };
        self.is_success() && !matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}
