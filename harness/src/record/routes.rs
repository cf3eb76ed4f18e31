//! Requests that a service of the harness has no answer for: its routes.

use std::collections::BTreeMap;

use super::names::yaml;
use super::seen::Seen;
use crate::ids::DependencyName;
use crate::manifest::{Manifest, Protocol, Provide};
use crate::place::{decode, match_path};
use crate::rehearsal::search::{self, Find};
use crate::tap::{HttpRequest, Request};

/// Routes for requests that fit none, by service, each as an element of its list.
pub(super) fn missing(manifest: &Manifest, runs: &[Seen]) -> BTreeMap<DependencyName, Vec<String>> {
    let mut missing: BTreeMap<DependencyName, Vec<String>> = BTreeMap::new();
    for (name, dependency) in &manifest.dependencies {
        let (Protocol::Http { routes }, Provide::Stub) =
            (&dependency.protocol, &dependency.provide)
        else {
            continue;
        };
        let mut asked: BTreeMap<(String, String), Asked> = BTreeMap::new();
        for run in runs {
            for passed in run.at(name) {
                let Request::Http(request) = &passed.call.request else {
                    continue;
                };
                let known = routes.iter().any(|route| {
                    (route.method == "*" || route.method.eq_ignore_ascii_case(&request.method))
                        && match_path(&route.path, &request.path).is_some()
                });
                if known || Seen::role(passed).is_none() {
                    continue;
                }
                let path = pattern(run, &request.path);
                let method = request.method.to_ascii_uppercase();
                let asked = asked.entry((method, path)).or_default();
                asked.finds.extend(run.finds_in_request(request));
                asked.keys.push(key_header(request));
            }
        }
        let elements = asked
            .into_iter()
            .map(|((method, path), asked)| element(&method, &path, asked));
        let elements: Vec<String> = elements.collect();
        if !elements.is_empty() {
            missing.insert(name.clone(), elements);
        }
    }
    missing
}

/// What was asked in one way.
#[derive(Default)]
struct Asked {
    finds: Vec<Find>,
    /// The header of each request that is called a key for repetitions.
    keys: Vec<Option<String>>,
}

/// A path with a name in the place of each id: what a client gave is a message's, what the
/// system gave is a job's.
fn pattern(run: &Seen, path: &str) -> String {
    let segments = path.split('/').map(|segment| {
        let text = decode(segment);
        match run.known.get(&text) {
            Some(message) if text == message.as_str() => "{message}".to_owned(),
            Some(_) => "{job}".to_owned(),
            None => segment.to_owned(),
        }
    });
    segments.collect::<Vec<_>>().join("/")
}

fn element(method: &str, path: &str, asked: Asked) -> String {
    let mut parts = vec![format!("on: {}", yaml_of_request(method, path))];
    let named = path.contains("{job}") || path.contains("{message}");
    let reads = matches!(method, "GET" | "HEAD" | "OPTIONS");
    if !reads {
        parts.push("write: true".to_owned());
        let all = asked.keys.iter().cloned().collect::<Option<Vec<String>>>();
        let key = all.and_then(|keys| keys.into_iter().next());
        let job = search::ranked(asked.finds)
            .into_iter()
            .find(|find| find.exact);
        if let (false, Some(job)) = (named, job) {
            parts.push(format!("job: {}", job.place));
        }
        if let Some(header) = key {
            parts.push(format!("idempotency: {{ header: {header} }}"));
        }
    }
    let reply = match method {
        "POST" => "{ status: 201, body: { text: \"{}\" } }",
        "DELETE" => "{ status: 204 }",
        _ if path.contains("{message}") => "{ status: 200, body: message }",
        _ => "{ status: 200, body: { text: \"{}\" } }",
    };
    parts.push(format!("reply: {reply}"));
    format!("{{ {} }}", parts.join(", "))
}

/// The header of a request that is called a key for repetitions, whatever stands in it: it
/// may well be an id of the system's own.
fn key_header(request: &HttpRequest) -> Option<String> {
    let mut names = request.headers.iter().map(|(name, _)| name);
    names
        .find(|name| name.to_ascii_lowercase().contains("idempotency"))
        .map(|name| name.to_ascii_lowercase())
}

fn yaml_of_request(method: &str, path: &str) -> String {
    yaml(&format!("{method} {path}"))
}
