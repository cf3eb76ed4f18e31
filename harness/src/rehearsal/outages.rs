//! Outages in a running rehearsal.

use super::Rehearsal;
use crate::ids::DependencyName;
use crate::outage::Outage;

impl Rehearsal {
    /// Arms an outage in the running deployment; one without `from` begins now.
    pub async fn strike(&mut self, outage: Outage) {
        let id = self.board.next_fault();
        let injection = self.board.outages().arm(id, outage).await;
        self.injections.push(injection);
    }

    /// Ends every outage of a dependency; says how many there were.
    pub async fn heal(&mut self, dependency: &DependencyName) -> usize {
        self.board.outages().heal(dependency).await
    }

    /// Whether a dependency has a server that no other rehearsal uses.
    pub fn owns(&self, dependency: &DependencyName) -> bool {
        self.dependencies.servers.contains_key(dependency)
    }
}
