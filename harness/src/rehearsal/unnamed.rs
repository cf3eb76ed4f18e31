//! What passed and could not be named: samples of it, kept until all ids are known.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::aliases::meanings;
use super::search::{self, Find, Known, Root};
use crate::ids::DependencyName;
use crate::place;
use crate::tap::HttpRequest;

/// How many contents of one kind are kept.
const MOST_SAMPLES: usize = 8;

/// Of what kind something is that could not be named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Handed over by a queue.
    Delivered { queue: String },
    /// Taken by a queue.
    Sent { queue: String },
    /// A write on a route that says where its job stands.
    Written { route: String },
    /// A call over HTTP, on a wire of which the manifest says where ids stand.
    Called,
}

/// What holds it.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Message(Value),
    Request(HttpRequest),
}

/// One thing that could not be named when it passed.
#[derive(Clone, Debug)]
struct Sample {
    ids: Vec<String>,
    content: Content,
}

/// All of one kind on one wire.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// The ids of each, by which it may be named yet.
    all: Vec<Vec<String>>,
    who: BTreeSet<String>,
    samples: Vec<Sample>,
}

/// Everything that could not be named.
#[derive(Debug, Default)]
pub(super) struct Unnamed {
    groups: BTreeMap<(DependencyName, Kind), Group>,
    /// Wires on which some call was named.
    named: BTreeSet<DependencyName>,
}

impl Unnamed {
    pub(super) fn note(
        &mut self,
        (dependency, kind): (DependencyName, Kind),
        who: String,
        ids: Vec<String>,
        content: impl FnOnce() -> Content,
        known: &Known,
    ) {
        let group = self.groups.entry((dependency, kind)).or_default();
        group.all.push(ids.clone());
        group.who.insert(who);
        if group.samples.len() >= MOST_SAMPLES {
            group
                .samples
                .retain(|sample| is_unnamed(&sample.ids, known));
        }
        if group.samples.len() < MOST_SAMPLES {
            let content = content();
            group.samples.push(Sample { ids, content });
        }
    }

    /// Some call on this wire was named by an id in it.
    pub(super) fn note_named(&mut self, dependency: &DependencyName) {
        if !self.named.contains(dependency) {
            self.named.insert(dependency.clone());
        }
    }

    /// What nobody can name to this day, and what is told of it.
    pub(super) fn told(&self, known: &Known) -> Vec<Telling> {
        let mut told = Vec::new();
        for ((dependency, kind), group) in &self.groups {
            let count = group
                .all
                .iter()
                .filter(|ids| is_unnamed(ids, known))
                .count();
            if count == 0 || (*kind == Kind::Called && self.named.contains(dependency)) {
                continue;
            }
            let open = group
                .samples
                .iter()
                .filter(|sample| is_unnamed(&sample.ids, known));
            let open: Vec<&Sample> = open.collect();
            let finds: Vec<Find> = open
                .iter()
                .flat_map(|sample| sample.content.finds(known))
                .collect();
            told.push(Telling {
                dependency: dependency.clone(),
                kind: kind.clone(),
                count,
                who: group.who.iter().cloned().collect(),
                shape: open.first().map(|sample| sample.content.shape(known)),
                unread: open.iter().any(|sample| sample.ids.is_empty()),
                finds: search::ranked(finds),
            });
        }
        // What a queue handed over, it took before.
        let delivered: BTreeSet<(DependencyName, String)> = told
            .iter()
            .filter_map(|telling| match &telling.kind {
                Kind::Delivered { queue } => Some((telling.dependency.clone(), queue.clone())),
                _ => None,
            })
            .collect();
        told.retain(|telling| match &telling.kind {
            Kind::Sent { queue } => {
                !delivered.contains(&(telling.dependency.clone(), queue.clone()))
            }
            _ => true,
        });
        told
    }
}

fn is_unnamed(ids: &[String], known: &Known) -> bool {
    ids.iter().all(|id| meanings(known, id).is_empty())
}

/// What is told of things that nobody can name.
#[derive(Clone, Debug)]
pub(super) struct Telling {
    pub(super) dependency: DependencyName,
    pub(super) kind: Kind,
    pub(super) count: usize,
    pub(super) who: Vec<String>,
    pub(super) shape: Option<String>,
    /// Whether nothing at all stands where the manifest says.
    unread: bool,
    pub(super) finds: Vec<Find>,
}

impl Telling {
    /// Whether it makes the verdict an error: what was handed over is always somebody's,
    /// and so is a write that does not say whose; for the rest the harness must know
    /// better where to look.
    pub(super) fn is_doubt(&self) -> bool {
        match self.kind {
            Kind::Delivered { .. } => true,
            Kind::Written { .. } => self.unread || !self.finds.is_empty(),
            Kind::Sent { .. } | Kind::Called => !self.finds.is_empty(),
        }
    }
}

impl Content {
    fn finds(&self, known: &Known) -> Vec<Find> {
        match self {
            Self::Message(message) => {
                let body = place::message_body(message).unwrap_or_default();
                let mut finds = search::find(known, &Root::Body, body.as_bytes());
                for (name, value) in place::attributes(message) {
                    let root = Root::Named("attribute", name.to_owned());
                    finds.extend(search::find(known, &root, &value));
                }
                finds
            }
            Self::Request(request) => {
                let mut finds = search::find(known, &Root::Body, &request.body);
                for (name, value) in &request.headers {
                    let root = Root::Named("header", name.clone());
                    finds.extend(search::find(known, &root, value.as_bytes()));
                }
                finds
            }
        }
    }

    fn shape(&self, known: &Known) -> String {
        match self {
            Self::Message(message) => {
                let body = place::message_body(message).unwrap_or_default();
                let body = search::shape(known, body.as_bytes());
                let attributes = place::attributes(message);
                let attributes: Vec<String> = attributes
                    .into_iter()
                    .map(|(name, value)| format!("{name}: {}", search::shape(known, &value)))
                    .collect();
                if attributes.is_empty() {
                    body
                } else {
                    format!("{body}, with the attributes {}", attributes.join(", "))
                }
            }
            Self::Request(request) => {
                let body = search::shape(known, &request.body);
                format!("{} {}: {body}", request.method, request.path)
            }
        }
    }
}
