//! Outages in a running rehearsal.

use super::Rehearsal;
use crate::ids::DependencyName;
use crate::outage::Outage;

impl Rehearsal {
    /// Awaits the start of the system; the clocks of outages that were ordered before run
    /// from then on. Where it takes half of the time that processes have for it, they run
    /// anyway: the system may be waiting for an outage to end.
    pub(super) async fn until_ready<T>(&self, starting: impl Future<Output = T>) -> T {
        let processes = self.manifest.processes.values();
        let shortest = processes.map(|process| process.ready_within).min();
        let mut starting = std::pin::pin!(starting);
        let in_time = tokio::time::timeout(shortest.unwrap_or_default() / 2, &mut starting).await;
        self.board.outages().start_clocks();
        match in_time {
            Ok(started) => started,
            Err(_) => starting.await,
        }
    }

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
