//! Messages whose attempts are used up, as far as it was seen.

use std::collections::{BTreeMap, BTreeSet};

use super::{Evidence, Ledger};

use crate::history::Event;
use crate::ids::{Author, CallId, DependencyName, MessageName, StageName};
use crate::manifest::Binding;
use crate::tap::{Extent, Side};

/// The messages that ended at the limit of their attempts in their present series, and
/// where. An end with another label is another end.
pub fn exhausted(evidence: Evidence<'_>) -> BTreeMap<MessageName, u64> {
    let attempts = evidence.manifest.attempts.as_ref();
    let Some(exhausted) = attempts.and_then(|attempts| attempts.exhausted.as_ref()) else {
        return BTreeMap::new();
    };
    let labelled = |at: u64| match &exhausted.label {
        None => true,
        Some((by, label)) => evidence
            .entries
            .iter()
            .find(|entry| entry.seq == at)
            .is_some_and(|entry| match &entry.event {
                Event::Stage { captured, .. } => captured.get(by) == Some(label),
                _ => false,
            }),
    };
    Ledger::of(evidence)
        .accounts
        .into_iter()
        .filter_map(|(message, account)| {
            let series = account.series.len().saturating_sub(1);
            let ends = account.ends_in(series);
            let (at, _) = ends
                .into_iter()
                .find(|(at, end)| *end == exhausted.end && labelled(*at))?;
            Some((message, *at))
        })
        .collect()
}

/// How often one of these stages may have been passed unseen, or seen and not known by
/// whom: calls that may have arrived and were never answered, and passages of nobody.
pub(super) fn may_have_passed(evidence: Evidence<'_>, stages: &[StageName]) -> usize {
    let passed_by_answers_of = |author: &Author, dependency: &DependencyName| {
        stages.iter().any(|stage| {
            let stage = evidence.manifest.stages.get(stage);
            stage.is_some_and(|stage| {
                let by = author.incarnation().map(|incarnation| &incarnation.role);
                by.is_some_and(|role| stage.roles.contains(role))
                    && matches!(&stage.binding,
                        Binding::Boundary { side: Side::After, dependency: bound, .. }
                        if bound == dependency)
            })
        })
    };
    let mut open: BTreeSet<CallId> = BTreeSet::new();
    let mut of_nobody = 0;
    for entry in evidence.entries {
        match &entry.event {
            Event::Called {
                call,
                author,
                dependency,
                ..
            } if passed_by_answers_of(author, dependency) => {
                open.insert(*call);
            }
            Event::Replied { call, .. }
            | Event::NotForwarded {
                call,
                extent: Extent::Nothing,
            }
            | Event::Injected {
                call,
                side: Side::Before,
                ..
            } => {
                open.remove(call);
            }
            Event::Stage {
                stage,
                message: None,
                ..
            } if stages.contains(stage) => of_nobody += 1,
            _ => {}
        }
    }
    open.len() + of_nobody
}
