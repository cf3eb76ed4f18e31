//! Calls that misbehave as a broken system's would: never made though it is told so, or made
//! again later.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Board;
use super::interference::Held;
use crate::embedded::queue::md5_of;
use crate::fault::Effect;
use crate::ids::FaultId;
use crate::tap::{Call, HttpReply, Reply, Request, SqsReply};

/// What became of the call, and why; in words.
type Decided = Result<(Held, &'static str), (Held, String)>;

impl Board {
    #[expect(
        clippy::result_large_err,
        reason = "what becomes of a call is decided once"
    )]
    /// Lets a call misbehave. One that several faults want so (`again`) does so once.
    pub(super) fn misbehave(
        &self,
        call: &Call,
        fault: FaultId,
        effect: &Effect,
        held: Held,
        again: bool,
    ) -> Decided {
        match (effect, held) {
            (Effect::Pretend, Held::Free) => match pretended(call) {
                Ok(reply) => Ok((Held::Reply(fault, reply), "was answered as if done")),
                Err(reason) => Err((Held::Free, reason)),
            },
            (Effect::Pretend, held @ Held::Reply(..)) if again => {
                Ok((held, "was answered as if done"))
            }
            (Effect::Again(later), held) => match &call.request {
                Request::Http(_) => {
                    self.make_again(call, *later);
                    Ok((held, "is made again later"))
                }
                Request::Sqs(_) | Request::Postgres(_) | Request::Redis(_) => {
                    let reason = "only a request over HTTP is made again later".to_owned();
                    Err((held, reason))
                }
            },
            (effect, held) => {
                let reason = format!("no {effect}: another fault decided over {} first", call.id);
                Err((held, reason))
            }
        }
    }

    fn make_again(&self, call: &Call, later: Duration) {
        if let Some(actor) = self.0.actor.get() {
            tokio::spawn(actor.make_again(Arc::new(call.clone()), later));
        }
    }
}

/// A reply that says that all is done.
fn pretended(call: &Call) -> Result<Reply, String> {
    let request = match &call.request {
        Request::Http(_) => {
            return Ok(Reply::Http(HttpReply {
                status: 200,
                headers: Vec::new(),
                body: Bytes::new(),
            }));
        }
        Request::Postgres(_) => {
            return Err("no database can be made to say that all is done".to_owned());
        }
        Request::Redis(_) => {
            return Err("no command of Redis is pretended".to_owned());
        }
        Request::Sqs(request) => request,
    };
    let entries = request.body.get("Entries").and_then(Value::as_array);
    let entries = entries.map_or(&[][..], Vec::as_slice);
    let body = match request.action.as_str() {
        "DeleteMessage" | "ChangeMessageVisibility" => json!({}),
        "SendMessage" => taken(&request.body),
        "ReceiveMessage" => json!({ "Messages": [] }),
        "DeleteMessageBatch" | "ChangeMessageVisibilityBatch" | "SendMessageBatch" => {
            let done = entries.iter().map(|entry| {
                let mut done = match entry.get("MessageBody") {
                    Some(_) => taken(entry),
                    None => json!({}),
                };
                done["Id"] = entry.get("Id").cloned().unwrap_or_default();
                done
            });
            json!({ "Successful": done.collect::<Vec<_>>(), "Failed": [] })
        }
        other => return Err(format!("{other} cannot be pretended")),
    };
    Ok(Reply::Sqs(SqsReply {
        status: 200,
        error: None,
        body,
        deletions: Vec::new(),
    }))
}

/// What a queue answers that took a message.
fn taken(entry: &Value) -> Value {
    let body = entry.get("MessageBody").and_then(Value::as_str);
    json!({
        "MessageId": Uuid::new_v4().to_string(),
        "MD5OfMessageBody": md5_of(body.unwrap_or_default().as_bytes()),
    })
}
