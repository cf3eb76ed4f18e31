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
mod time;
mod total;

use std::sync::Arc;

pub(super) use figure::Figure;
pub(super) use foreign::PUTS;
pub(super) use message::DECLARES;

use super::Scene;
use crate::gherkin::{Deed, Objection, Step, StepError};
use crate::manifest::Manifest;

/// All packs.
pub(super) fn all(manifest: &Arc<Manifest>) -> Vec<Vec<Step<Scene>>> {
    vec![
        setting::pack(manifest),
        message::pack(),
        faults(fault::pack(manifest)),
        faults(call::pack(manifest)),
        faults(outage::pack(manifest)),
        fleet::pack(),
        client::pack(),
        foreign::pack(),
        process::pack(),
        faults(partition::pack()),
        faults(instance::pack()),
        barrier::pack(),
        ahead::pack(),
        log::pack(manifest),
        time::pack(),
        total::pack(manifest),
        calls::pack(manifest),
        operator::pack(),
        durable::pack(),
    ]
}

/// A pack whose phrases are faults, but for those that say otherwise.
fn faults(mut pack: Vec<Step<Scene>>) -> Vec<Step<Scene>> {
    for step in &mut pack {
        if step.deed == Deed::Plain {
            step.deed = Deed::Fault;
        }
    }
    pack
}

/// What speaks against a step: what would make it invalid when it runs.
fn objections<T>(result: Result<T, StepError>) -> Vec<Objection> {
    result.err().map(Objection::from).into_iter().collect()
}
