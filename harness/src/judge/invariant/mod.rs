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
mod group_order;
mod hidden;
mod one_end;
mod open_attempts;
mod order;
mod pause;
mod receipts;
mod received;
mod told;
mod write_once;

use super::{Evidence, Ledger, Violation};

/// All rules, by name.
pub const ALL: &[(&str, Rule)] = &[
    (delete_after_end::NAME, delete_after_end::check),
    (conservation::NAME, conservation::check),
    (one_end::NAME, one_end::check),
    (write_once::NAME, write_once::check),
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
];

/// Whether what breaks this rule is something that was not seen.
pub(super) fn rests_on_absence(rule: &str) -> bool {
    [
        conservation::NAME,
        delete_after_end::NAME,
        order::NAME,
        received::NAME,
        exhausted::NAME,
        told::NAME,
        write_once::NEVER,
    ]
    .contains(&rule)
}

/// A rule.
pub type Rule = fn(Evidence<'_>, &Ledger) -> Vec<Violation>;

/// Everything in this history that breaks a rule.
pub fn violations(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    ALL.iter()
        .flat_map(|(_, check)| check(evidence, ledger))
        .collect()
}

#[cfg(test)]
mod tests;
