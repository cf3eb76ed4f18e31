//! Every outside write is some job's. One that carries nothing at all, where the writes of
//! jobs name them, is nobody's: no manifest could tell whose it is, and none could be wrong
//! about it. (What carries something that cannot be named is a doubt, and no verdict.)

use std::collections::BTreeSet;

use crate::history::Event;
use crate::ids::DependencyName;
use crate::judge::{Evidence, Ledger, Violation};

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
    let nobodys = entries.iter().filter_map(|entry| match &entry.event {
        Event::Performed {
            dependency,
            route: Some(route),
            write: true,
            bare: true,
            message: None,
            job: None,
            group: None,
            ..
        } if named.contains(&(dependency, route.as_str())) => Some(Violation {
            invariant: NAME,
            text: format!(
                "`{dependency}` performed `{route}` for a request that carries nothing: it is no job's"
            ),
            evidence: vec![entry.seq],
        }),
        _ => None,
    });
    nobodys.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};

    /// A write for a job, and one that names none.
    fn broken(is_bare: bool) -> usize {
        let mut entries = Story::new().wrote("M1").wrote("M1").entries();
        if let Some(entry) = entries.last_mut()
            && let Event::Performed {
                message, job, bare, ..
            } = &mut entry.event
        {
            (*message, *job, *bare) = (None, None, is_bare);
        }
        let evidence = Evidence {
            manifest: &MANIFEST,
            entries: &entries,
        };
        check(evidence, &Ledger::of(evidence)).len()
    }

    #[test]
    fn a_write_that_carries_nothing_is_nobodys() {
        assert_eq!(broken(true), 1);
    }

    #[test]
    fn what_carries_something_that_cannot_be_named_convicts_nobody() {
        assert_eq!(broken(false), 0);
    }
}
