//! What SQS calls are about: one subject for each entry of a batch, or each message of a
//! receive.

use serde_json::Value;

use crate::ids::DependencyName;
use crate::manifest::{CapturePlace, Manifest, Stage};
use crate::place;
use crate::stage::{Subject, ids_in_message};
use crate::tap::{Call, SqsRequest};

/// The items of an SQS body: batch entries, received messages, or the body itself.
pub(crate) fn items(body: &Value) -> Vec<&Value> {
    for list in ["Entries", "Messages", "Successful"] {
        if let Some(items) = body.get(list).and_then(Value::as_array) {
            return items.iter().collect();
        }
    }
    vec![body]
}

pub(crate) fn ids(manifest: &Manifest, dependency: &DependencyName, item: &Value) -> Vec<String> {
    let mut ids: Vec<String> = ["MessageId", "ReceiptHandle"]
        .iter()
        .filter_map(|member| Some(item.get(member)?.as_str()?.to_owned()))
        .collect();
    ids.extend(ids_in_message(manifest, dependency, item));
    ids
}

fn confirmed_entries(body: &Value) -> Vec<&str> {
    let results = body.get("Successful").and_then(Value::as_array);
    results
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.get("Id")?.as_str())
        .collect()
}

pub(crate) fn subjects(
    manifest: &Manifest,
    call: &Call,
    stage: &Stage,
    request: &SqsRequest,
    reply: Option<&Value>,
) -> Vec<Subject> {
    let received = request.action == "ReceiveMessage";
    let subject = |item: &Value| {
        let captured = stage
            .capture
            .iter()
            .filter_map(|(name, place)| match place {
                CapturePlace::Place(place) => {
                    let found = place::lookup_message(place, item).into_iter().next()?;
                    Some((name.clone(), found))
                }
                CapturePlace::Bind(_) => None,
            })
            .collect();
        let ids = ids(manifest, &call.dependency, item);
        Subject {
            ids,
            captured,
            ..Subject::default()
        }
    };
    if received {
        // What a receive is about stands in its reply alone.
        return reply
            .and_then(|body| body.get("Messages"))
            .and_then(Value::as_array)
            .map(|messages| messages.iter().map(subject).collect())
            .unwrap_or_default();
    }
    // Of a batch only what its reply confirms: an entry that a fault took out never arrived.
    let confirmed = reply
        .filter(|_| request.body.get("Entries").is_some())
        .map(|body| confirmed_entries(body));
    items(&request.body)
        .into_iter()
        .filter(|item| {
            let id = item.get("Id").and_then(Value::as_str);
            confirmed
                .as_ref()
                .is_none_or(|confirmed| id.is_some_and(|id| confirmed.contains(&id)))
        })
        .map(subject)
        .collect()
}
