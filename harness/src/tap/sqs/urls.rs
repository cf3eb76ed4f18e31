//! Queue URLs in bodies, moved from one origin to another. Everything else in a body
//! stays byte for byte.

use std::borrow::Cow;
use std::net::SocketAddr;

use bytes::Bytes;
use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};

/// The members that hold a queue URL or a list of them, in requests and in replies.
const MEMBERS: [&str; 3] = ["QueueUrl", "QueueUrls", "queueUrls"];

/// Scheme and authority of a server's URLs.
pub(super) struct Origin(String);

impl Origin {
    pub(super) fn of(address: SocketAddr) -> Self {
        Self(format!("http://{address}"))
    }

    /// The URL with this origin in place of its own; nothing if that changes nothing.
    fn moved(&self, url: &str) -> Option<String> {
        let (scheme, rest) = url.split_once("://")?;
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        let known = matches!(scheme, "http" | "https") && !url.starts_with(&format!("{}/", self.0));
        known.then(|| format!("{}{path}", self.0))
    }
}

/// The body with its queue URLs moved to `origin`; nothing if none had to be.
pub(super) fn rewrite(body: &Bytes, origin: &Origin) -> Option<Bytes> {
    // Most bodies name no queue, and need not be parsed for it.
    let named = |member: &str| {
        let member = member.as_bytes();
        body.windows(member.len()).any(|window| window == member)
    };
    if !named("ueueUrl") {
        return None;
    }
    let mut members: IndexMap<Cow<'_, str>, Cow<'_, RawValue>> =
        serde_json::from_slice::<IndexMap<String, &RawValue>>(body)
            .ok()?
            .into_iter()
            .map(|(name, value)| (Cow::Owned(name), Cow::Borrowed(value)))
            .collect();
    let mut changed = false;
    for member in MEMBERS {
        let Some(value) = members.get_mut(member) else {
            continue;
        };
        if let Some(moved) = moved(value, origin) {
            *value = Cow::Owned(moved);
            changed = true;
        }
    }
    if !changed {
        return None;
    }
    serde_json::to_vec(&members).ok().map(Bytes::from)
}

fn moved(value: &RawValue, origin: &Origin) -> Option<Box<RawValue>> {
    if let Ok(url) = serde_json::from_str::<String>(value.get()) {
        return to_raw_value(&origin.moved(&url)?).ok();
    }
    let urls: Vec<String> = serde_json::from_str(value.get()).ok()?;
    let moved: Vec<String> = urls
        .into_iter()
        .map(|url| origin.moved(&url).unwrap_or(url))
        .collect();
    to_raw_value(&moved).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(body: &str) -> Option<String> {
        let origin = Origin("http://127.0.0.1:9".to_owned());
        let bytes = rewrite(&Bytes::copy_from_slice(body.as_bytes()), &origin)?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn only_the_url_changes() {
        let body = r#"{"MessageBody":"{\"a\" : \"\ud83d\\ud800\u00e4\"}", "N": 1.0e3,"QueueUrl":"http://localhost:4566/000000000000/jobs","Z":[ 1 ]}"#;
        let expected = r#"{"MessageBody":"{\"a\" : \"\ud83d\\ud800\u00e4\"}","N":1.0e3,"QueueUrl":"http://127.0.0.1:9/000000000000/jobs","Z":[ 1 ]}"#;
        assert_eq!(rewritten(body).unwrap(), expected);
    }

    #[test]
    fn lists_of_urls_change_each() {
        let body = r#"{"QueueUrls":["http://a/1/x","https://b:2/1/y"],"NextToken":"t"}"#;
        let expected =
            r#"{"QueueUrls":["http://127.0.0.1:9/1/x","http://127.0.0.1:9/1/y"],"NextToken":"t"}"#;
        assert_eq!(rewritten(body).unwrap(), expected);
        assert!(rewritten(r#"{"queueUrls":["http://a/1/x"]}"#).is_some());
    }

    #[test]
    fn what_needs_no_change_stays() {
        assert_eq!(rewritten(r#"{"QueueUrl":"http://127.0.0.1:9/1/x"}"#), None);
        assert_eq!(rewritten(r#"{"QueueUrl":"jobs"}"#), None);
        assert_eq!(rewritten(r#"{"QueueUrl":7}"#), None);
        assert_eq!(rewritten(r#"{"Messages":[]}"#), None);
        assert_eq!(rewritten("QueueUrl, but no JSON"), None);
    }
}
