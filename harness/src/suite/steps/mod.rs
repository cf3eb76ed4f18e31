//! The phrases that features may use. A step translates; what it does lives in
//! [`crate::rehearsal`].

mod barrier;
mod client;
mod fault;
mod figure;
mod fleet;
mod foreign;
mod instance;
mod log;
mod message;
mod operator;
mod outage;
mod partition;
mod process;
mod setting;
mod total;

use super::Scene;
use crate::gherkin::Step;
use crate::rehearsal::totals;

/// Totals that every system has.
pub(super) const BUILT_IN_TOTALS: &[&str] = &[
    totals::LEFT_IN_QUEUE,
    totals::DEAD_LETTERS,
    totals::OUTSIDE_REQUESTS,
];

/// All packs.
pub(super) fn all() -> Vec<Vec<Step<Scene>>> {
    vec![
        setting::pack(),
        message::pack(),
        fault::pack(),
        outage::pack(),
        fleet::pack(),
        client::pack(),
        foreign::pack(),
        process::pack(),
        partition::pack(),
        instance::pack(),
        barrier::pack(),
        log::pack(),
        total::pack(),
        operator::pack(),
    ]
}
