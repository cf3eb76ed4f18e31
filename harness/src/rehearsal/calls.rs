//! The calls that processes made, by their shape.

use super::Rehearsal;
use crate::history::{Made, Tally};
use crate::ids::{RoleName, StageName};
use crate::manifest::Binding;
use crate::shape::{Shape, Wanted, instead};

/// A role, or one instance of it.
type Caller<'a> = (&'a RoleName, Option<u32>);

/// Why there is none: the nearest calls of the same protocol that it did make.
fn none_like(tally: &Tally, by: Caller<'_>, wanted: &Wanted) -> String {
    const SHOWN: usize = 5;
    let role = by.0;
    let made = tally.made().filter_map(|made| shape(made, by));
    let nearest: Vec<String> = wanted
        .nearest(made, SHOWN)
        .into_iter()
        .map(|shape| format!("\"{shape}\""))
        .collect();
    if nearest.is_empty() {
        return format!("the {role} made no call at all");
    }
    format!(
        "the {role} never called \"{wanted}\"; the nearest of its calls are {}",
        nearest.join(", ")
    )
}

fn shape<'t>(made: Made<'t>, (role, instance): Caller<'_>) -> Option<&'t Shape> {
    let is_its =
        made.by.role == *role && instance.is_none_or(|instance| made.by.instance == instance);
    is_its.then_some(made.shape)
}

impl Rehearsal {
    /// Stages at which something should have been done and that nobody ever passed, with what
    /// was called instead.
    pub fn unpassed(&self) -> Vec<String> {
        let manifest = self.manifest();
        let awaited = self.board.awaited_stages();
        self.board.history().tally(|tally| {
            let passed: Vec<&StageName> = tally.stages().collect();
            let never = awaited.iter().filter(|stage| !passed.contains(stage));
            let told = never.filter_map(|name| {
                let stage = manifest.stages.get(name)?;
                let made = tally
                    .made()
                    .filter(|made| stage.roles.contains(&made.by.role));
                let seen = instead(stage, made.map(|made| made.shape))?;
                let Binding::Boundary { pattern, .. } = &stage.binding else {
                    return None;
                };
                let described = pattern.describe();
                Some(format!("nobody ever passed `{name}` ({described}); {seen}"))
            });
            told.collect()
        })
    }

    /// When a process made the calls of this shape, in microseconds since the rehearsal began.
    pub fn calls(&self, role: &RoleName, instance: Option<u32>, wanted: &Wanted) -> Vec<u64> {
        self.board.history().tally(|tally| {
            let made = tally.made();
            let such = made.filter(|made| {
                shape(*made, (role, instance)).is_some_and(|shape| wanted.is(shape))
            });
            such.map(|made| made.at_us).collect()
        })
    }

    /// What a process called instead, where it made no call of this shape.
    pub fn no_call_like(&self, role: &RoleName, instance: Option<u32>, wanted: &Wanted) -> String {
        self.board
            .history()
            .tally(|tally| none_like(tally, (role, instance), wanted))
    }
}
