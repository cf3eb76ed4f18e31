//! Which calls were made where a stage waited for another one.

use super::{Shape, Wanted};
use crate::manifest::{Binding, Stage};

/// So many of the nearest calls are told.
const SHOWN: usize = 3;

/// The calls of these that are nearest to the one that a stage is bound to: what somebody
/// meant who wrote it otherwise. None where it is announced, or nothing was called there.
pub fn instead<'s>(stage: &Stage, shapes: impl Iterator<Item = &'s Shape>) -> Option<String> {
    let Binding::Boundary {
        dependency,
        pattern,
        ..
    } = &stage.binding
    else {
        return None;
    };
    let wanted = Wanted::parse(&pattern.written()).ok()?;
    let there = shapes.filter(|shape| shape.dependency == *dependency);
    let nearest: Vec<String> = wanted
        .nearest(there, SHOWN)
        .into_iter()
        .map(|shape| format!("\"{shape}\""))
        .collect();
    (!nearest.is_empty()).then(|| {
        format!(
            "the nearest calls to the {dependency} that were seen: {}",
            nearest.join(", ")
        )
    })
}
