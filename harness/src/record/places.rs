//! Where ids stand on each wire: what `messages.recognise` does not say yet.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use super::seen::{Seen, Spot, delivered, sent};
use crate::ids::{DependencyName, MessageName};
use crate::manifest::{Manifest, Protocol};
use crate::place::match_path;
use crate::rehearsal::search::{self, Find, Known};
use crate::tap::{Request, Statement};

/// What is proposed for one wire.
pub(super) struct Proposal {
    /// Its value, as a manifest writes it.
    pub(super) value: String,
    /// What is said about it.
    pub(super) comment: String,
}

/// Shorter numbers stand elsewhere by chance.
const SHORTEST_NUMBER: usize = 12;

/// What is proposed for a wire; none: no known id was seen there.
pub(super) fn propose(
    manifest: &Manifest,
    dependency: &DependencyName,
    runs: &[Seen],
) -> Option<Proposal> {
    match &manifest.dependencies.get(dependency)?.protocol {
        Protocol::Sqs { .. } => in_messages(dependency, runs),
        Protocol::Http { .. } => in_requests(manifest, dependency, runs),
        Protocol::Postgres { .. } => in_binds(dependency, runs),
        Protocol::Redis { .. } => {
            let mut sightings = runs.iter().flat_map(|run| {
                let calls = run.at(dependency);
                calls.flat_map(|passed| run.sightings(passed))
            });
            sightings.next().map(|sighting| Proposal {
                value: "any-value".to_owned(),
                comment: format!("seen: {:?} of {}", sighting.id, sighting.message),
            })
        }
    }
}

fn in_messages(dependency: &DependencyName, runs: &[Seen]) -> Option<Proposal> {
    let mut contents = Vec::new();
    for run in runs {
        for passed in run.at(dependency) {
            let messages = delivered(passed).chain(sent(passed));
            contents.extend(messages.map(|message| run.finds_in_message(message)));
        }
    }
    covering(contents)
}

fn in_requests(
    manifest: &Manifest,
    dependency: &DependencyName,
    runs: &[Seen],
) -> Option<Proposal> {
    let routes = manifest.dependencies.get(dependency)?.routes();
    let mut contents = Vec::new();
    for run in runs {
        for passed in run.at(dependency) {
            let Request::Http(request) = &passed.call.request else {
                continue;
            };
            let mut finds = run.finds_in_request(request);
            for route in routes {
                let Some(captures) = match_path(&route.path, &request.path) else {
                    continue;
                };
                finds.extend(["job", "message"].into_iter().filter_map(|name| {
                    let id = captures.get(name)?;
                    Some(Find {
                        place: format!("{{ path: {name} }}"),
                        id: id.to_owned(),
                        message: run.known.get(id)?.clone(),
                        exact: true,
                    })
                }));
            }
            contents.push(finds);
        }
    }
    covering(contents)
}

/// As few places as name a message in each content in which any can be named.
fn covering(mut contents: Vec<Vec<Find>>) -> Option<Proposal> {
    contents.retain(|finds| finds.iter().any(|find| find.exact));
    let mut places: Vec<Find> = Vec::new();
    while !contents.is_empty() {
        let best = best(contents.iter().flatten())?;
        contents.retain(|finds| !finds.iter().any(|find| find.place == best.place));
        places.push(best);
    }
    let first = places.first()?;
    let written: Vec<&str> = places.iter().map(|find| find.place.as_str()).collect();
    Some(Proposal {
        value: format!("[{}]", written.join(", ")),
        comment: format!("seen: {:?} of {}", first.id, first.message),
    })
}

/// The place that names most messages, by an id rather than by their names, and not in a
/// header if it need not be.
fn best<'f>(finds: impl Iterator<Item = &'f Find>) -> Option<Find> {
    let mut places: BTreeMap<&str, (BTreeSet<&MessageName>, &Find)> = BTreeMap::new();
    for find in finds.filter(|find| find.exact) {
        let place = places
            .entry(&find.place)
            .or_insert_with(|| (BTreeSet::new(), find));
        place.0.insert(&find.message);
    }
    let best = places.into_values().min_by_key(|(messages, find)| {
        (
            std::cmp::Reverse(messages.len()),
            find.id == find.message.as_str(),
            find.place.starts_with("{ header"),
            std::cmp::Reverse(find.id.len()),
            find.place.len(),
        )
    });
    best.map(|(_, find)| find.clone())
}

fn in_binds(dependency: &DependencyName, runs: &[Seen]) -> Option<Proposal> {
    let mut statements: Vec<(&Statement, usize, String, MessageName)> = Vec::new();
    let mut literal = None;
    for run in runs {
        for passed in run.at(dependency) {
            let Request::Postgres(request) = &passed.call.request else {
                continue;
            };
            for statement in &request.statements {
                for sighting in run.in_statement(statement) {
                    match sighting.spot {
                        Spot::Bind(bind) => {
                            statements.push((statement, bind, sighting.id, sighting.message));
                        }
                        _ => literal = Some((sighting.id, sighting.message)),
                    }
                }
            }
        }
    }
    let told = |id: &str, message: &MessageName| format!("seen: {id:?} of {message}");
    let Some((_, _, id, message)) = statements.first() else {
        let (id, message) = literal?;
        return Some(Proposal {
            value: "any-bind".to_owned(),
            comment: told(&id, &message),
        });
    };
    let comment = told(id, message);
    let is_plain_number =
        |id: &String| id.len() < SHORTEST_NUMBER && id.chars().all(|c| c.is_ascii_digit());
    if !statements.iter().any(|(_, _, id, _)| is_plain_number(id)) {
        return Some(Proposal {
            value: "any-bind".to_owned(),
            comment,
        });
    }
    Some(Proposal {
        value: listed(&statements, runs, dependency)?,
        comment: format!("{comment}; a number, which other values may be too"),
    })
}

/// The binds in which ids stood, each by its statement. A value that is the id of one
/// message in a statement of all is no accident.
fn listed(
    statements: &[(&Statement, usize, String, MessageName)],
    runs: &[Seen],
    dependency: &DependencyName,
) -> Option<String> {
    let all = all_statements(runs, dependency);
    let mut binds: BTreeMap<(String, usize), BTreeSet<&MessageName>> = BTreeMap::new();
    // What is called like the message is its content.
    let is_id = |id: &str, message: &MessageName| id != message.as_str();
    let any_id = statements
        .iter()
        .any(|(_, _, id, message)| is_id(id, message));
    for (statement, bind, id, message) in statements {
        if any_id && !is_id(id, message) {
            continue;
        }
        let others = names::others(statement, all.iter().copied());
        let Some(name) =
            names::statement(statement, &others).or_else(|| names::statement(statement, &[]))
        else {
            continue;
        };
        binds.entry((name, *bind)).or_default().insert(message);
    }
    let messages: BTreeSet<&MessageName> = binds.values().flatten().copied().collect();
    let written: Vec<String> = binds
        .iter()
        .filter(|(_, named)| named.len() == messages.len())
        .map(|((name, bind), _)| format!("{{ statement: {}, bind: {bind} }}", names::yaml(name)))
        .collect();
    (!written.is_empty()).then(|| format!("[{}]", written.join(", ")))
}

pub(super) fn all_statements<'s>(
    runs: &'s [Seen],
    dependency: &'s DependencyName,
) -> Vec<&'s Statement> {
    let calls = runs.iter().flat_map(|run| run.at(dependency));
    let requests = calls.filter_map(|passed| match &passed.call.request {
        Request::Postgres(request) => Some(request),
        _ => None,
    });
    requests.flat_map(|request| &request.statements).collect()
}

/// What a queue handed over although nobody knows whose it is: how it looks.
pub(super) fn unrecognised(dependency: &DependencyName, runs: &[Seen]) -> Option<String> {
    for run in runs {
        for passed in run.at(dependency) {
            let mut messages = delivered(passed);
            let unknown = messages.find(|message| run.finds_in_message(message).is_empty());
            if let Some(message) = unknown {
                let body = crate::place::message_body(message).unwrap_or_default();
                let shape = search::shape(&Known::new(), body.as_bytes());
                return Some(format!(
                    "{dependency} handed over what holds no known id: {shape}; have it carry the \
                     id that the client was told, or the request key"
                ));
            }
        }
    }
    None
}
