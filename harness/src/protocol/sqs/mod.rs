//! The SQS tap: the HTTP tap with knowledge of the SQS JSON protocol.
//!
//! Each wire attempt is one call that carries the SDK's invocation id, so that whoever
//! counts calls can tell a repetition from a new one. Queue URLs, names and ARNs are
//! rewritten in both directions: clients see the tap's address and the names they gave,
//! the dependency its own address and the [`Names`] of the scenario. All other bytes of a
//! request and of a reply stay as they are, so the checksums that SDKs verify hold; a header
//! by which the embedded queue tells what became of deletions is for the harness alone.
//!
//! The older query protocol (form in, XML out) is refused with an error that says so.
//! Requests that are no SQS action at all (a health check) pass as plain HTTP calls.
//!
//! Toward AWS itself requests must be signed anew for the real host; that belongs into
//! [`Dialect::request`], after the URLs were rewritten.

mod bodies;
mod call;
mod error;
mod names;
pub(crate) mod subject;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use self::bodies::{Origin, Reader, Rewriting};
pub(crate) use self::call::is_the_queues_fault;
pub use self::call::{Deletion, SqsReply, SqsRequest};
pub use self::names::{Names, Undeclared};
use super::http::connection::serve;
use super::http::dialect::{Dialect, Plain, Refusal};
use super::http::message::{RequestMessage, ResponseMessage};
use crate::embedded::queue::admin::DELETIONS;
use crate::tap::{Call, Reply, Request, Tap, TapContext};

/// Opens a tap in front of a queue server.
///
/// # Errors
/// When no port can be had.
pub async fn open(context: TapContext, names: Arc<Names>) -> io::Result<Tap> {
    Tap::open(context, move |stream, connection| {
        let names = Arc::clone(&names);
        async move {
            let own = match stream.local_addr() {
                Ok(address) => address,
                Err(error) => return format!("the client was gone at once: {error}"),
            };
            let dialect = Sqs::new(own, connection.tap.upstream, names);
            serve(stream, connection, dialect).await
        }
    })
    .await
}

const TARGET: &str = "AmazonSQS.";
const MEDIA_TYPE: &str = "application/x-amz-json-1.0";

/// The SQS JSON protocol.
struct Sqs {
    own: Origin,
    dependency: Origin,
    names: Arc<Names>,
}

impl Sqs {
    fn new(own: SocketAddr, dependency: SocketAddr, names: Arc<Names>) -> Self {
        Self {
            own: Origin::of(own),
            dependency: Origin::of(dependency),
            names,
        }
    }

    fn to_server(&self, action: &str, body: &Bytes) -> Option<Bytes> {
        let rewriting = Rewriting {
            reader: Reader::Server,
            origin: &self.dependency,
            names: &self.names,
        };
        rewriting.of(action, body)
    }

    fn to_system(&self, action: &str, body: &Bytes) -> Option<Bytes> {
        let rewriting = Rewriting {
            reader: Reader::System,
            origin: &self.own,
            names: &self.names,
        };
        rewriting.of(action, body)
    }

    /// Notes what a call that succeeded did with a queue.
    fn note(&self, request: &SqsRequest, reply: &Value) {
        let Some(queue) = &request.queue else { return };
        let taken = match request.action.as_str() {
            "ReceiveMessage" => reply["Messages"].as_array().map_or(0, Vec::len),
            "CreateQueue" | "SendMessage" | "SendMessageBatch" => 0,
            _ => return,
        };
        self.names.note(queue, taken);
    }
}

impl Dialect for Sqs {
    fn request(&self, message: &mut RequestMessage) -> Result<Request, Refusal> {
        let Some(target) = message.headers.get("x-amz-target") else {
            return if is_query_protocol(message) {
                Err(error::query_protocol())
            } else {
                Plain.request(message)
            };
        };
        let Some(action) = target.strip_prefix(TARGET).map(str::to_owned) else {
            return Err(error::unknown_target(target));
        };
        if let Some(body) = self.to_server(&action, &message.body) {
            message.body = body;
        }
        let body: Value = if message.body.is_empty() {
            Value::Object(serde_json::Map::new())
        } else {
            serde_json::from_slice(&message.body)
                .map_err(|fault| error::no_json(&action, &fault))?
        };
        let header = |name| message.headers.get(name).map(str::to_owned);
        Ok(Request::Sqs(SqsRequest {
            queue: queue_name(&body),
            invocation: header("amz-sdk-invocation-id"),
            attempt: message
                .headers
                .get("amz-sdk-request")
                .and_then(wire_attempt)
                .unwrap_or(1),
            action,
            body,
        }))
    }

    fn reply(&self, call: &Call, message: &mut ResponseMessage) -> Reply {
        let Request::Sqs(request) = &call.request else {
            return Plain.reply(call, message);
        };
        let body = if message.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&message.body).unwrap_or_else(|_| {
                Value::String(String::from_utf8_lossy(&message.body).into_owned())
            })
        };
        let error = error::name(message, &body);
        if message.status < 300 {
            self.note(request, &body);
        }
        if let Some(body) = self.to_system(&request.action, &message.body) {
            message.body = body;
        }
        let words = message.headers.words(DELETIONS);
        let deletions = words.filter_map(|word| deletion(&word)).collect();
        message.headers.remove(DELETIONS);
        Reply::Sqs(SqsReply {
            status: message.status,
            error,
            body,
            deletions,
        })
    }

    fn answer(&self, reply: &Reply) -> Option<ResponseMessage> {
        match reply {
            Reply::Sqs(reply) => Some(self.response(reply)),
            Reply::Http(reply) => Some(ResponseMessage::from_recorded(reply)),
            Reply::Postgres(_) | Reply::Redis(_) | Reply::Broken { .. } => None,
        }
    }
}

impl Sqs {
    fn response(&self, reply: &SqsReply) -> ResponseMessage {
        let (body, query_error) = match &reply.error {
            Some(name) => error::body_and_header(name, reply),
            None => (reply.body.to_string(), None),
        };
        let body = Bytes::from(body);
        let body = self.to_system("", &body).unwrap_or(body);
        let mut response = ResponseMessage::new(reply.status, MEDIA_TYPE, body);
        response
            .headers
            .push("x-amzn-requestid", uuid::Uuid::new_v4().to_string());
        if let Some(query_error) = query_error {
            response.headers.push("x-amzn-query-error", query_error);
        }
        response
    }
}

fn deletion(word: &str) -> Option<Deletion> {
    match word {
        "deleted" => Some(Deletion::Deleted),
        "kept" => Some(Deletion::Kept),
        "gone" => Some(Deletion::Gone),
        _ => None,
    }
}

fn is_query_protocol(message: &RequestMessage) -> bool {
    let form = message
        .headers
        .get("content-type")
        .is_some_and(|media_type| media_type.starts_with("application/x-www-form-urlencoded"));
    let query = message
        .target
        .split_once('?')
        .map_or("", |(_, query)| query);
    form || query
        .split('&')
        .any(|parameter| parameter.starts_with("Action="))
}

fn queue_name(body: &Value) -> Option<String> {
    let url = body.get("QueueUrl").and_then(Value::as_str);
    let of_url = url
        .and_then(|url| url.rsplit('/').next())
        .filter(|name| !name.is_empty());
    let name = of_url.or_else(|| body.get("QueueName").and_then(Value::as_str));
    name.map(str::to_owned)
}

/// The attempt in `attempt=2; max=3`.
fn wire_attempt(header: &str) -> Option<u32> {
    header
        .split(';')
        .find_map(|part| part.trim().strip_prefix("attempt=")?.parse().ok())
}
