//! Whom a call concerns, whatever stage it belongs to: for faults that name a call by its
//! shape.

use super::{Subject, http_ids, took_place};
use crate::manifest::Manifest;
use crate::protocol::{postgres, redis, sqs};
use crate::tap::{Call, Reply, Request, Statement};

/// Whom a call concerns before its dependency got it: one subject for each part of it.
pub fn concerned_before(manifest: &Manifest, call: &Call) -> Vec<Subject> {
    let dependency = &call.dependency;
    match &call.request {
        Request::Postgres(request) => {
            let own: Vec<&Statement> = request.statements.iter().collect();
            let earlier: Vec<&Statement> = request.transaction.iter().collect();
            vec![Subject {
                ids: postgres::subject::ids(manifest, dependency, &own),
                inherited: postgres::subject::ids(manifest, dependency, &earlier),
                ..Subject::default()
            }]
        }
        Request::Sqs(request) => of_items(
            sqs::subject::items(&request.body)
                .into_iter()
                .map(|item| sqs::subject::ids(manifest, dependency, item)),
        ),
        Request::Http(request) => of_items([http_ids(manifest, dependency, request)].into_iter()),
        Request::Redis(request) => redis::subject::subjects(manifest, dependency, request, None),
    }
}

/// Whom a call concerned now that its effect took place; none if it did not, or if a
/// receive handed nothing over.
pub fn concerned_after(manifest: &Manifest, call: &Call, reply: &Reply) -> Option<Vec<Subject>> {
    if !took_place(reply) {
        return None;
    }
    if let (Request::Redis(request), Reply::Redis(reply)) = (&call.request, reply) {
        let dependency = &call.dependency;
        request.effective(reply).next()?;
        let subjects = redis::subject::subjects(manifest, dependency, request, Some(reply));
        return Some(subjects);
    }
    let (Request::Sqs(request), Reply::Sqs(reply)) = (&call.request, reply) else {
        return Some(concerned_before(manifest, call));
    };
    if request.action != "ReceiveMessage" {
        return Some(concerned_before(manifest, call));
    }
    let messages = reply.body.get("Messages")?.as_array()?;
    if messages.is_empty() {
        return None;
    }
    Some(of_items(messages.iter().map(|message| {
        sqs::subject::ids(manifest, &call.dependency, message)
    })))
}

fn of_items(items: impl Iterator<Item = Vec<String>>) -> Vec<Subject> {
    items
        .map(|ids| Subject {
            ids,
            ..Subject::default()
        })
        .collect()
}
