//! The calls that processes made, by their shape.

use super::Rehearsal;
use crate::history::{Entry, Event};
use crate::ids::RoleName;
use crate::shape::{Shape, Wanted};

/// A role, or one instance of it.
type Caller<'a> = (&'a RoleName, Option<u32>);

/// Why there is none: the nearest calls of the same protocol that it did make.
fn none_like(entries: &[Entry], by: Caller<'_>, wanted: &Wanted) -> String {
    const SHOWN: usize = 5;
    let role = by.0;
    let made = entries.iter().filter_map(|entry| shape(entry, by));
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

fn shape<'e>(entry: &'e Entry, (role, instance): Caller<'_>) -> Option<&'e Shape> {
    let Event::Called { author, shape, .. } = &entry.event else {
        return None;
    };
    let by = author.incarnation()?;
    let is_its = by.role == *role && instance.is_none_or(|instance| by.instance == instance);
    shape.as_ref().filter(|_| is_its)
}

impl Rehearsal {
    /// When a process made the calls of this shape, in microseconds since the rehearsal began.
    pub fn calls(&self, role: &RoleName, instance: Option<u32>, wanted: &Wanted) -> Vec<u64> {
        self.board.history().read(|entries| {
            entries
                .iter()
                .filter(|entry| {
                    shape(entry, (role, instance)).is_some_and(|shape| wanted.is(shape))
                })
                .map(|entry| entry.at_us)
                .collect()
        })
    }

    /// What a process called instead, where it made no call of this shape.
    pub fn no_call_like(&self, role: &RoleName, instance: Option<u32>, wanted: &Wanted) -> String {
        self.board
            .history()
            .read(|entries| none_like(entries, (role, instance), wanted))
    }
}
