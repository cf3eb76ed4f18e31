//! Queue URLs, names and ARNs in bodies, as the other side knows them. Everything else in
//! a body stays byte for byte.

use std::borrow::Cow;
use std::net::SocketAddr;

use bytes::Bytes;
use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};

use super::names::Names;

/// Who is to read a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Server,
    System,
}

/// What a body has to be rewritten for: who reads it, where that one finds the service,
/// and the names of its queues.
pub(super) struct Rewriting<'r> {
    pub(super) reader: Reader,
    pub(super) origin: &'r Origin,
    pub(super) names: &'r Names,
}

/// Scheme and authority of a server's URLs.
pub(super) struct Origin(String);

impl Origin {
    pub(super) fn of(address: SocketAddr) -> Self {
        Self(format!("http://{address}"))
    }
}

/// What every member that has to be looked at contains.
const TRACES: [&str; 3] = ["ueueUrl", "QueueName", "arn:"];

type Members<'b> = IndexMap<Cow<'b, str>, Cow<'b, RawValue>>;

impl Rewriting<'_> {
    /// The body as its reader must see it; nothing if that is as it is.
    pub(super) fn of(&self, action: &str, body: &Bytes) -> Option<Bytes> {
        let lists = action == "ListQueues" && self.reader == Reader::Server;
        // Most replies name no queue, and need not be parsed for it.
        if !lists && !TRACES.iter().any(|trace| contains(body, trace)) {
            return None;
        }
        let mut members = if body.is_empty() {
            Members::new()
        } else {
            read(body)?
        };
        let mut changed = false;
        for (name, value) in &mut members {
            if let Some(new) = self.member(name, value) {
                *value = Cow::Owned(new);
                changed = true;
            }
        }
        if lists && !self.names.prefix().is_empty() && !members.contains_key("QueueNamePrefix") {
            let prefix = to_raw_value(self.names.prefix()).ok()?;
            members.insert(Cow::Borrowed("QueueNamePrefix"), Cow::Owned(prefix));
            changed = true;
        }
        if !changed {
            return None;
        }
        serde_json::to_vec(&members).ok().map(Bytes::from)
    }

    fn member(&self, name: &str, value: &RawValue) -> Option<Box<RawValue>> {
        match name {
            "QueueUrl" => text(value, |url| self.url(url)),
            "QueueName" => text(value, |name| self.name(name)),
            "QueueNamePrefix" => text(value, |start| {
                let prefix = self.names.prefix();
                (!start.starts_with(prefix)).then(|| format!("{prefix}{start}"))
            }),
            "QueueUrls" | "queueUrls" => {
                let urls: Vec<String> = serde_json::from_str(value.get()).ok()?;
                let new: Vec<String> = urls
                    .iter()
                    .map(|url| self.url(url).unwrap_or_else(|| url.clone()))
                    .collect();
                (new != urls).then(|| to_raw_value(&new).ok()).flatten()
            }
            "Attributes" | "SourceArn" | "DestinationArn" | "Results" => self.arns(value),
            "Messages" => self.messages(value),
            _ => None,
        }
    }

    fn name(&self, name: &str) -> Option<String> {
        let new = match self.reader {
            Reader::Server => self.names.at_server(name),
            Reader::System => self.names.of_system(name)?,
        };
        (new != name).then_some(new)
    }

    /// The URL as its reader knows it; nothing if that is as it is.
    fn url(&self, url: &str) -> Option<String> {
        let (scheme, rest) = url.split_once("://")?;
        if !matches!(scheme, "http" | "https") {
            return None;
        }
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        let new = match path.trim_end_matches('/').rsplit_once('/') {
            Some((account, name)) if !name.is_empty() => {
                let name = self.name(name).unwrap_or_else(|| name.to_owned());
                format!("{}{account}/{name}", self.origin.0)
            }
            _ => format!("{}{path}", self.origin.0),
        };
        (new != url).then_some(new)
    }

    /// Every ARN of a queue in a JSON text. None of its characters needs an escape.
    fn arns(&self, value: &RawValue) -> Option<Box<RawValue>> {
        let mut new = String::new();
        let mut rest = value.get();
        while let Some(at) = rest.find("arn:") {
            let (before, from) = rest.split_at(at);
            new.push_str(before);
            let end = from.find(|c: char| !(c.is_ascii_alphanumeric() || ":-_.".contains(c)));
            let (arn, after) = from.split_at(end.unwrap_or(from.len()));
            new.push_str(&self.arn(arn).unwrap_or_else(|| arn.to_owned()));
            rest = after;
        }
        new.push_str(rest);
        (new != value.get())
            .then(|| RawValue::from_string(new).ok())
            .flatten()
    }

    fn arn(&self, arn: &str) -> Option<String> {
        let (start, name) = arn.rsplit_once(':')?;
        let is_queue = start.split(':').nth(2) == Some("sqs") && start.split(':').count() == 5;
        let name = self.name(name).filter(|_| is_queue)?;
        Some(format!("{start}:{name}"))
    }

    /// Received messages: only where they came from as dead letters.
    fn messages(&self, value: &RawValue) -> Option<Box<RawValue>> {
        if !contains(value.get().as_bytes(), "DeadLetterQueueSourceArn") {
            return None;
        }
        let raw: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
        let mut changed = false;
        let mut messages = Vec::new();
        for raw in raw {
            let mut message = read(raw.get().as_bytes())?;
            if let Some(attributes) = message.get_mut("Attributes")
                && let Some(new) = self.source(attributes)
            {
                *attributes = Cow::Owned(new);
                changed = true;
            }
            messages.push(to_raw_value(&message).ok()?);
        }
        changed.then(|| to_raw_value(&messages).ok()).flatten()
    }

    fn source(&self, attributes: &RawValue) -> Option<Box<RawValue>> {
        let mut members = read(attributes.get().as_bytes())?;
        let source = members.get_mut("DeadLetterQueueSourceArn")?;
        *source = Cow::Owned(self.arns(source)?);
        to_raw_value(&members).ok()
    }
}

fn text(value: &RawValue, new: impl FnOnce(&str) -> Option<String>) -> Option<Box<RawValue>> {
    let text: String = serde_json::from_str(value.get()).ok()?;
    to_raw_value(&new(&text)?).ok()
}

fn contains(body: &[u8], trace: &str) -> bool {
    let trace = trace.as_bytes();
    body.windows(trace.len()).any(|window| window == trace)
}

fn read(body: &[u8]) -> Option<Members<'_>> {
    let members: IndexMap<String, &RawValue> = serde_json::from_slice(body).ok()?;
    let members = members.into_iter();
    Some(
        members
            .map(|(name, value)| (Cow::Owned(name), Cow::Borrowed(value)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(reader: Reader, names: &Names, action: &str, body: &str) -> Option<String> {
        let rewriting = Rewriting {
            reader,
            origin: &Origin("http://127.0.0.1:9".to_owned()),
            names,
        };
        let bytes = rewriting.of(action, &Bytes::copy_from_slice(body.as_bytes()))?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    fn plainly(body: &str) -> Option<String> {
        rewritten(Reader::Server, &Names::default(), "SendMessage", body)
    }

    #[test]
    fn only_the_url_changes() {
        let body = r#"{"MessageBody":"{\"a\" : \"\ud83d\\ud800\u00e4\"}", "N": 1.0e3,"QueueUrl":"http://localhost:4566/000000000000/jobs","Z":[ 1 ]}"#;
        let expected = r#"{"MessageBody":"{\"a\" : \"\ud83d\\ud800\u00e4\"}","N":1.0e3,"QueueUrl":"http://127.0.0.1:9/000000000000/jobs","Z":[ 1 ]}"#;
        assert_eq!(plainly(body).unwrap(), expected);
    }

    #[test]
    fn lists_of_urls_change_each() {
        let body = r#"{"QueueUrls":["http://a/1/x","https://b:2/1/y"],"NextToken":"t"}"#;
        let expected =
            r#"{"QueueUrls":["http://127.0.0.1:9/1/x","http://127.0.0.1:9/1/y"],"NextToken":"t"}"#;
        assert_eq!(plainly(body).unwrap(), expected);
        assert!(plainly(r#"{"queueUrls":["http://a/1/x"]}"#).is_some());
    }

    #[test]
    fn what_needs_no_change_stays() {
        assert_eq!(plainly(r#"{"QueueUrl":"http://127.0.0.1:9/1/x"}"#), None);
        assert_eq!(plainly(r#"{"QueueUrl":"jobs"}"#), None);
        assert_eq!(plainly(r#"{"QueueUrl":7}"#), None);
        assert_eq!(plainly(r#"{"Messages":[]}"#), None);
        assert_eq!(plainly("QueueUrl, but no JSON"), None);
    }

    #[test]
    fn names_prefixes_and_arns_become_those_of_the_server_and_back() {
        let names = Names::beginning_with("run-1");
        let policy = r#"{\"deadLetterTargetArn\":\"arn:aws:sqs:r:1:NAME\",\"maxReceiveCount\":3}"#;
        for (action, body) in [
            ("CreateQueue", format!(r#"{{"QueueName":"NAME","Attributes":{{"RedrivePolicy":"{policy}"}}}}"#)),
            ("GetQueueUrl", r#"{"QueueName":"NAME"}"#.to_owned()),
            ("ReceiveMessage", r#"{"QueueUrl":"http://127.0.0.1:9/1/NAME"}"#.to_owned()),
            ("StartMessageMoveTask", r#"{"SourceArn":"arn:aws-cn:sqs:r:1:NAME","DestinationArn":"arn:aws:sqs:r:1:NAME.fifo"}"#.to_owned()),
        ] {
            let ours = body.replace("NAME", "jobs");
            let theirs = body.replace("NAME", "run-1-jobs");
            assert_eq!(rewritten(Reader::Server, &names, action, &ours).unwrap(), theirs);
            assert_eq!(rewritten(Reader::Server, &names, action, &theirs), None);
            assert_eq!(rewritten(Reader::System, &names, action, &theirs).unwrap(), ours);
        }
    }

    #[test]
    fn a_list_holds_the_scenario_s_own_queues() {
        let names = Names::beginning_with("run-1");
        let asked = |body| rewritten(Reader::Server, &names, "ListQueues", body);
        assert_eq!(asked("{}").unwrap(), r#"{"QueueNamePrefix":"run-1-"}"#);
        let with = r#"{"MaxResults":3,"QueueNamePrefix":"jo"}"#;
        assert_eq!(
            asked(with).unwrap(),
            r#"{"MaxResults":3,"QueueNamePrefix":"run-1-jo"}"#
        );
    }

    #[test]
    fn of_a_dead_letter_only_its_source_changes() {
        let names = Names::beginning_with("run-1");
        let message = |name: &str| {
            format!(
                r#"{{"Messages":[{{"Body":"DeadLetterQueueSourceArn arn:aws:sqs:r:1:run-1-jobs \u00e4","Attributes":{{"DeadLetterQueueSourceArn":"arn:aws:sqs:r:1:{name}","SentTimestamp":"1"}}}}]}}"#
            )
        };
        let seen = rewritten(
            Reader::System,
            &names,
            "ReceiveMessage",
            &message("run-1-jobs"),
        );
        assert_eq!(seen.unwrap(), message("jobs"));
    }
}
