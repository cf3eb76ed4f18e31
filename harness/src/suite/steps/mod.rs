//! The phrases that features may use. A step translates; what it does lives in
//! [`crate::rehearsal`].

mod ahead;
mod barrier;
mod call;
mod calls;
mod client;
mod durable;
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

use std::sync::Arc;

pub(super) use foreign::PUTS;
pub(super) use message::DECLARES;

use super::Scene;
use crate::gherkin::{Objection, Step, StepError};
use crate::manifest::Manifest;

/// All packs.
pub(super) fn all(manifest: &Arc<Manifest>) -> Vec<Vec<Step<Scene>>> {
    vec![
        setting::pack(manifest),
        message::pack(),
        fault::pack(manifest),
        call::pack(manifest),
        outage::pack(manifest),
        fleet::pack(),
        client::pack(),
        foreign::pack(),
        process::pack(),
        partition::pack(),
        instance::pack(),
        barrier::pack(),
        ahead::pack(),
        log::pack(manifest),
        total::pack(manifest),
        calls::pack(manifest),
        operator::pack(),
        durable::pack(),
    ]
}

/// What speaks against a step: what would make it invalid when it runs.
fn objections<T>(result: Result<T, StepError>) -> Vec<Objection> {
    result.err().map(Objection::from).into_iter().collect()
}
