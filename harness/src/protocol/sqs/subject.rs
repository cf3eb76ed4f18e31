//! What SQS calls are about: one subject for each entry of a batch, or each message of a
//! receive.

use serde_json::Value;

use crate::ids::DependencyName;
use crate::manifest::{CapturePlace, Manifest, Pattern, Stage};
use crate::place;
use crate::protocol::concern::{Concerns, Wire, subjects_of};
use crate::stage::{Subject, ids_in_message};
use crate::tap::{Reply, SqsRequest};

impl Concerns for SqsRequest {
    fn ids(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<String> {
        let items = items(&self.body).into_iter();
        items
            .flat_map(|item| ids(manifest, dependency, item))
            .collect()
    }

    fn together(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Vec<String>> {
        let items = items(&self.body).into_iter();
        items
            .map(|item| ids_in_message(manifest, dependency, item))
            .collect()
    }

    fn concerned(&self, manifest: &Manifest, dependency: &DependencyName) -> Vec<Subject> {
        let items = items(&self.body).into_iter();
        subjects_of(items.map(|item| ids(manifest, dependency, item)))
    }

    fn concerned_after(
        &self,
        manifest: &Manifest,
        dependency: &DependencyName,
        reply: &Reply,
    ) -> Option<Vec<Subject>> {
        let (Reply::Sqs(reply), "ReceiveMessage") = (reply, self.action.as_str()) else {
            return Some(self.concerned(manifest, dependency));
        };
        let messages = reply.body.get("Messages")?.as_array()?;
        let found = messages.iter().map(|one| ids(manifest, dependency, one));
        (!messages.is_empty()).then(|| subjects_of(found))
    }

    fn matches(&self, wire: Wire<'_>, pattern: &Pattern) -> bool {
        let Pattern::Action { action, queue } = pattern else {
            return false;
        };
        let same = self.action == *action || self.action.strip_suffix("Batch") == Some(action);
        same && queue.as_ref().is_none_or(|queue| {
            let key = (wire.dependency.clone(), queue.clone());
            wire.queues.get(&key) == self.queue.as_ref()
        })
    }

    fn subjects(&self, wire: Wire<'_>, stage: &Stage) -> Vec<Subject> {
        subjects(wire, stage, self, None)
    }

    fn passes_after(
        &self,
        wire: Wire<'_>,
        stage: &Stage,
        pattern: &Pattern,
        reply: &Reply,
    ) -> Option<Vec<Subject>> {
        if !self.matches(wire, pattern) {
            return None;
        }
        let Reply::Sqs(reply) = reply else {
            return Some(subjects(wire, stage, self, None));
        };
        let subjects = subjects(wire, stage, self, Some(&reply.body));
        // One passage of nobody for each call, whatever it brought.
        Some(if stage.is_nobodys() && pattern.is_receive() {
            vec![Subject::of_nobody(subjects)]
        } else {
            subjects
        })
    }
}

/// The items of an SQS body: batch entries, received messages, or the body itself.
fn items(body: &Value) -> Vec<&Value> {
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

fn subjects(
    wire: Wire<'_>,
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
        let ids = ids(wire.manifest, wire.dependency, item);
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
