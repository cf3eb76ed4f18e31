//! The clocks of outages that begin or end by time. While the system starts, time proves
//! nothing: an outage that was ordered before counts from the moment at which the system is
//! ready, or from its own first strike, as a system may wait for its end to become ready.

use std::time::Duration;

use super::Outages;
use super::state::Phase;
use crate::ids::FaultId;
use crate::outage::Moment;

impl Outages {
    /// The system is ready: time counts from now on.
    pub fn start_clocks(&self) {
        let ids: Vec<FaultId> = {
            let mut state = self.state();
            state.running = true;
            state.entries.iter().map(|entry| entry.id).collect()
        };
        for id in ids {
            self.start_clock(id);
        }
    }

    /// Counts the time to an outage's beginning, or to its end once it is on; once for each.
    pub(super) fn start_clock(&self, id: FaultId) {
        let (phase, times) = {
            let mut state = self.state();
            let Some(entry) = state.entry(id) else { return };
            let phase = entry.phase;
            if entry.clock.replace(phase) == Some(phase) {
                return;
            }
            let moments: Vec<&Moment> = match phase {
                Phase::Waiting => entry.outage.from.iter().collect(),
                Phase::On => entry.outage.until.iter().collect(),
                Phase::Over => return,
            };
            let times = moments.into_iter().filter_map(|moment| match moment {
                Moment::Time(time) => Some(*time),
                _ => None,
            });
            (phase, times.collect::<Vec<Duration>>())
        };
        for time in times {
            let outages = self.clone();
            tokio::spawn(async move {
                tokio::time::sleep(time).await;
                match phase {
                    Phase::Waiting => outages.begin(id).await,
                    _ => outages.end(id).await,
                }
            });
        }
    }
}
