//! Deaths that a scenario says to expect, whatever causes them.

use super::Rehearsal;
use crate::ids::{Incarnation, RoleName};

/// A role, or one instance of it, that is expected to die by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedDeath {
    /// Its role.
    pub role: RoleName,
    /// Which instance; none: any.
    pub instance: Option<u32>,
}

impl ExpectedDeath {
    /// Whether the end of this incarnation was to be expected.
    pub(super) fn is_of(&self, incarnation: &Incarnation) -> bool {
        let instance = self.instance.is_none_or(|one| one == incarnation.instance);
        self.role == incarnation.role && instance
    }
}

impl Rehearsal {
    /// From now on a process is expected to die by itself.
    pub fn expect_death(&mut self, death: ExpectedDeath) {
        self.board.expect_death(death);
    }
}
