//! Rules that every history must satisfy, whatever its scenario says. One rule a
//! file; each is a pure function that gives back what breaks it.

mod after_quiet;
mod always;
mod concurrency;
mod conservation;
#[cfg(test)]
mod consuming;
mod delete_after_end;
mod exhausted;
mod expected_stop;
mod finished_dead_letter;
mod group_order;
mod hidden;
mod observed;
mod one_end;
mod open_attempts;
mod order;
mod pause;
mod receipts;
mod received;
mod redelivery;
mod told;
mod two_owners;
mod write_for_nobody;
mod write_once;

use super::{Evidence, Ledger, Violation};
use crate::manifest::{Findings, Level};

/// All rules, by name.
pub const ALL: &[(&str, Rule)] = &[
    (delete_after_end::NAME, delete_after_end::check),
    (conservation::NAME, conservation::check),
    (one_end::NAME, one_end::check),
    (write_once::NAME, write_once::check),
    (write_for_nobody::NAME, write_for_nobody::check),
    (order::NAME, order::check),
    (pause::NAME, pause::check),
    (concurrency::NAME, concurrency::check),
    (open_attempts::NAME, open_attempts::check),
    (expected_stop::NAME, expected_stop::check),
    (exhausted::NAME, exhausted::check),
    (received::NAME, received::check),
    (told::NAME, told::check),
    (always::NAME, always::check),
    (group_order::NAME, group_order::check),
    (after_quiet::NAME, after_quiet::check),
    (hidden::NAME, hidden::check),
    (receipts::NAME, receipts::check),
    (observed::NAME, observed::check),
];

/// What a system may do and be right all the same, each with what its manifest makes of it.
pub const FINDINGS: &[(&str, Chosen, Rule)] = &[
    (two_owners::NAME, |of| of.two_owners, two_owners::check),
    (redelivery::NAME, |of| of.redelivery, redelivery::check),
    (
        finished_dead_letter::NAME,
        |of| of.finished_dead_letter,
        finished_dead_letter::check,
    ),
];

/// What a manifest makes of a finding.
pub type Chosen = fn(&Findings) -> Level;

/// Whether what breaks this rule is something that was not seen.
pub(super) fn rests_on_absence(rule: &str) -> bool {
    [
        conservation::NAME,
        delete_after_end::NAME,
        order::NAME,
        received::NAME,
        exhausted::NAME,
        told::NAME,
        observed::NAME,
        write_once::NEVER,
    ]
    .contains(&rule)
}

/// A rule.
pub type Rule = fn(Evidence<'_>, &Ledger) -> Vec<Violation>;

/// Everything in this history that breaks a rule.
pub fn violations(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let rules = ALL.iter().map(|(_, check)| check);
    rules
        .chain(found_as(evidence, Level::Fail))
        .flat_map(|check| check(evidence, ledger))
        .collect()
}

/// Everything in this history that is worth a word, and breaks no rule.
pub fn warnings(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    found_as(evidence, Level::Warn)
        .flat_map(|check| check(evidence, ledger))
        .collect()
}

/// What the manifest makes so much of.
fn found_as(evidence: Evidence<'_>, wanted: Level) -> impl Iterator<Item = &'static Rule> {
    let chosen =
        move |(_, level, _): &&(&str, Chosen, Rule)| level(&evidence.manifest.findings) == wanted;
    FINDINGS.iter().filter(chosen).map(|(_, _, check)| check)
}

#[cfg(test)]
mod tests;
