//! Where the answer to a submission says which job it became.

use std::collections::BTreeSet;

use serde_json::Value;

use super::seen::Seen;
use crate::manifest::{Manifest, PathStep, Pipeline, Reading, Submit};
use crate::tap::{Bind, HttpReply, Reply, Request};

/// A value in an answer.
struct Leaf {
    path: Vec<PathStep>,
    value: String,
}

/// The place in the answers of all submissions whose value differs from message to message
/// and comes again in what the system does; how a manifest writes it.
pub(super) fn place(manifest: &Manifest, runs: &[Seen]) -> Option<String> {
    let Submit::Request(submit) = &manifest.messages.submit else {
        return None;
    };
    let mut answers: Vec<Vec<Leaf>> = Vec::new();
    let mut passed_on: Vec<String> = Vec::new();
    for run in runs {
        for passed in &run.calls {
            let (Request::Http(request), Some(Reply::Http(reply)), None) = (
                &passed.call.request,
                passed.reply.as_deref(),
                Seen::role(passed),
            ) else {
                passed_on.extend(values(&passed.call.request));
                continue;
            };
            let is_submission = passed.call.dependency.as_str() == submit.role.as_str()
                && request.method.eq_ignore_ascii_case(&submit.method)
                && (200..300).contains(&reply.status);
            if is_submission {
                answers.push(leaves(reply));
            }
        }
    }
    let first = answers.first()?;
    let mut candidates: Vec<(usize, bool, usize, String)> = Vec::new();
    for leaf in first {
        let values: Vec<&String> = answers
            .iter()
            .filter_map(|answer| answer.iter().find(|other| other.path == leaf.path))
            .map(|leaf| &leaf.value)
            .collect();
        let different: BTreeSet<&String> = values.iter().copied().collect();
        if values.len() < answers.len() || different.len() < 2 {
            continue;
        }
        let again = different
            .iter()
            .filter(|value| passed_on.iter().any(|text| text.contains(value.as_str())))
            .count();
        let place = Pipeline(vec![Reading::Select(leaf.path.clone())]).to_string();
        candidates.push((again, sounds_like_an_id(leaf), leaf.path.len(), place));
    }
    candidates.sort_by(|one, other| {
        (other.0 > 0, other.1, other.0, one.2, &one.3).cmp(&(
            one.0 > 0,
            one.1,
            one.0,
            other.2,
            &other.3,
        ))
    });
    candidates.into_iter().next().map(|(.., place)| place)
}

fn sounds_like_an_id(leaf: &Leaf) -> bool {
    let Some(PathStep::Member(name)) = leaf.path.last() else {
        return leaf.path.is_empty();
    };
    let name = name.to_lowercase();
    let words = ["id", "job", "key", "number", "uuid", "reference", "ticket"];
    words.iter().any(|word| name.contains(word))
}

fn leaves(reply: &HttpReply) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    match serde_json::from_slice::<Value>(&reply.body) {
        Ok(value) => collect(&value, &mut Vec::new(), &mut leaves),
        Err(_) => {
            if let Ok(text) = std::str::from_utf8(&reply.body)
                && !text.trim().is_empty()
            {
                leaves.push(Leaf {
                    path: Vec::new(),
                    value: text.trim().to_owned(),
                });
            }
        }
    }
    leaves
}

fn collect(value: &Value, path: &mut Vec<PathStep>, leaves: &mut Vec<Leaf>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                path.push(PathStep::Member(name.clone()));
                collect(member, path, leaves);
                path.pop();
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                path.push(PathStep::Element(index));
                collect(element, path, leaves);
                path.pop();
            }
        }
        Value::String(text) if !text.is_empty() => leaves.push(Leaf {
            path: path.clone(),
            value: text.clone(),
        }),
        Value::Number(number) => leaves.push(Leaf {
            path: path.clone(),
            value: number.to_string(),
        }),
        _ => {}
    }
}

/// The texts in what a process asks for.
fn values(request: &Request) -> Vec<String> {
    match request {
        Request::Sqs(request) => vec![request.body.to_string()],
        Request::Http(request) => vec![
            request.path.clone(),
            String::from_utf8_lossy(&request.body).into_owned(),
        ],
        Request::Postgres(request) => {
            let binds = request.statements.iter().flat_map(|one| &one.binds);
            let binds = binds.filter_map(|bind| match bind {
                Bind::Text(text) => Some(text.clone()),
                _ => None,
            });
            let texts = request.statements.iter();
            binds
                .chain(texts.map(|one| one.sql.written().to_owned()))
                .collect()
        }
        Request::Redis(request) => {
            let commands = request.commands.iter();
            commands
                .flat_map(|command| &command.arguments)
                .map(|part| String::from_utf8_lossy(part).into_owned())
                .collect()
        }
    }
}
