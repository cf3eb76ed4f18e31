//! What the consumers may do at this moment, and whether they stopped.

use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::ids::{RoleName, StageName};

impl Rehearsal {
    /// The mode of consumption, if the manifest says where it stands and there is one.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn mode(&self) -> Result<Option<String>, RehearsalError> {
        let Some(consumption) = &self.manifest.consumption else {
            return Ok(None);
        };
        let claim = &consumption.mode;
        self.board.outages().usable(&claim.dependency).await;
        Ok(self
            .dependencies
            .value(&claim.dependency, &claim.query, None)
            .await?)
    }

    /// Waits until consumption is in a mode, looking again whenever something happened.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub async fn mode_becomes(&self, wanted: &str) -> Result<(), RehearsalError> {
        let mut watch = self.board.history().watch();
        loop {
            watch.mark_unchanged();
            if self.mode().await?.as_deref() == Some(wanted) {
                return Ok(());
            }
            // The sender lives as long as the history.
            let _ = watch.changed().await;
        }
    }

    /// Whether consumption rests until a person does something, or an outage that nobody
    /// ends by itself is over: messages may stay in their queues then.
    pub(super) async fn rests(&self) -> Result<bool, RehearsalError> {
        let Some(consumption) = &self.manifest.consumption else {
            return Ok(false);
        };
        let Some(mode) = self.mode().await? else {
            return Ok(false);
        };
        let waits_for_outage = mode != consumption.normal
            && self.board.outages().any_lasting()
            && self.paused(consumption.paused.as_ref(), &consumption.resumed);
        Ok(consumption.rests.contains(&mode) || waits_for_outage)
    }

    fn paused(&self, begins: Option<&StageName>, ends: &[StageName]) -> bool {
        let (begun, ended) = self.board.history().tally(|tally| {
            let last = |stage| tally.last_passage_of_any(stage);
            (begins.map_or(0, last), ends.iter().map(last).max())
        });
        begun > ended.unwrap_or_default()
    }

    /// The stop of consumption that nothing in the scenario expected.
    pub fn unexpected_stop(&self) -> Option<String> {
        if self.stop_expected {
            return None;
        }
        let stop = self.board.stop()?;
        Some(format!("{stop}, which the scenario did not expect"))
    }

    /// The configured number of messages in hand.
    pub(super) fn configured_in_hand(&self) -> Option<u32> {
        let consumption = self.manifest.consumption.as_ref()?;
        let lookup = |name: &str| self.dependencies.settings().get(name).cloned();
        consumption.in_hand.render(&lookup).ok()?.parse().ok()
    }

    fn is_poll(&self, stage: &StageName) -> bool {
        let stage = self.manifest.stages.get(stage);
        stage.is_some_and(|stage| stage.is_nobodys() && stage.is_bound_to_receive())
    }

    /// Waits until the processes of a role have made so many further calls; tells what else
    /// happened meanwhile: passages of stages, and effects at queues.
    pub async fn over_calls(&self, role: &RoleName, calls: usize) -> Vec<String> {
        let history = self.board.history();
        let start = history.last();
        let made = || history.tally(|tally| tally.calls(role));
        let enough = made().saturating_add(calls);
        self.board.until(|| (made() >= enough).then_some(())).await;
        self.board.history().read(|entries| {
            let later = entries.partition_point(|entry| entry.seq <= start);
            entries[later..]
                .iter()
                .filter_map(|entry| match &entry.event {
                    // A poll of the fleet is no more than a call.
                    Event::Stage {
                        stage,
                        message: None,
                        ..
                    } if self.is_poll(stage) => None,
                    Event::Stage { stage, message, .. } => Some(match message {
                        Some(message) => format!("{message} passed {stage}"),
                        None => format!("{stage} was passed"),
                    }),
                    Event::Delivered { message_id, .. } => Some(format!("{message_id} delivered")),
                    Event::Deleted { receipt, .. } => Some(format!("{receipt} deleted")),
                    Event::Exited { incarnation, .. } => Some(format!("{incarnation} ended")),
                    Event::Performed {
                        request,
                        write: true,
                        ..
                    } => Some(format!("{request} performed")),
                    _ => None,
                })
                .collect()
        })
    }
}
