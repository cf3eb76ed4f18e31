//! Every outside write is some job's. One that carries nothing at all, where the writes of
//! jobs carry their ids, is nobody's: no manifest could tell whose it is, and none could be
//! wrong about it. (What carries something that cannot be named is a doubt, and no verdict.)

use std::collections::{BTreeSet, HashMap};

use crate::history::Event;
use crate::ids::DependencyName;
use crate::judge::{Evidence, Ledger, Violation};
use crate::shape::Asked;

pub(super) const NAME: &str = "an outside write is some job's";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let entries = evidence.entries;
    let named: BTreeSet<(&DependencyName, &str)> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Performed {
                dependency,
                route: Some(route),
                write: true,
                job: Some(_),
                ..
            } => Some((dependency, route.as_str())),
            _ => None,
        })
        .collect();
    // The latest call with such a request that carries nothing, and is not accounted for.
    let mut empty: HashMap<(&DependencyName, String), u64> = HashMap::new();
    let mut violations = Vec::new();
    for entry in entries {
        match &entry.event {
            Event::Called {
                author,
                dependency,
                shape: Some(shape),
                content,
                ..
            } if author.incarnation().is_some() => {
                let Asked::Request { method, path } = &shape.asked else {
                    continue;
                };
                let at = (dependency, format!("{method} {path}"));
                if content.is_none() {
                    empty.insert(at, entry.seq);
                } else {
                    empty.remove(&at);
                }
            }
            Event::Performed {
                dependency,
                route: Some(route),
                write: true,
                message: None,
                job: None,
                group: None,
                others,
                ..
            } if others.is_empty() && named.contains(&(dependency, route.as_str())) => {
                if let Some(call) = empty.remove(&(dependency, route.clone())) {
                    violations.push(Violation {
                        invariant: NAME,
                        text: format!(
                            "`{dependency}` performed `{route}` for a request that carries nothing: it is no job's"
                        ),
                        evidence: vec![call, entry.seq],
                    });
                }
            }
            _ => {}
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Blob, Entry, Shared};
    use crate::judge::story::{MANIFEST, Story, packer};
    use crate::shape::Shape;

    /// A write for a job, and one whose request holds `content` and names no job.
    fn broken(content: Option<&[u8]>) -> usize {
        let story = Story::new()
            .called(&packer(1), "POST /parcels")
            .wrote("M1")
            .called(&packer(1), "POST /parcels")
            .wrote("M1");
        let mut entries: Vec<Entry> = story.entries();
        let mut calls = 0;
        let mut writes = 0;
        for entry in &mut entries {
            match &mut entry.event {
                Event::Called {
                    dependency,
                    shape,
                    content: own,
                    ..
                } => {
                    calls += 1;
                    *dependency = "carrier".into();
                    let asked = Asked::Request {
                        method: "POST".to_owned(),
                        path: "/parcels".to_owned(),
                    };
                    *shape = Some(Shared::from(Shape {
                        dependency: "carrier".into(),
                        asked,
                    }));
                    let held = if calls == 1 {
                        Some(&b"{}"[..])
                    } else {
                        content
                    };
                    *own = held.map(|held| Box::new(Blob::of(held)));
                }
                Event::Performed { message, job, .. } => {
                    writes += 1;
                    if writes == 2 {
                        (*message, *job) = (None, None);
                    }
                }
                _ => {}
            }
        }
        let evidence = Evidence {
            manifest: &MANIFEST,
            entries: &entries,
        };
        check(evidence, &Ledger::of(evidence)).len()
    }

    #[test]
    fn a_write_that_carries_nothing_is_nobodys() {
        assert_eq!(broken(None), 1);
    }

    #[test]
    fn what_carries_something_that_cannot_be_named_convicts_nobody() {
        assert_eq!(broken(Some(b"{}")), 0);
    }
}
