//! How many messages may be taken now. Asked before every receive, and once more for what
//! a receive brought: the fleet may have stopped, paused or gone on trial in between.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::Worker;
use crate::store::StoreError;
use crate::store::dependencies::Dependency;
use crate::store::fleet::{Fleet, OPERATOR, SEVERAL_DEATHS};

/// What this worker has in hand, and what it last knew of the fleet.
#[derive(Default)]
pub(super) struct Hands {
    full: AtomicUsize,
    freed: Notify,
    on_trial: AtomicBool,
}

/// One message in hand.
pub(super) struct InHand(std::sync::Arc<Worker>);

impl Drop for InHand {
    fn drop(&mut self) {
        self.0.hands.full.fetch_sub(1, Ordering::Relaxed);
        self.0.hands.freed.notify_one();
    }
}

impl Worker {
    /// Takes one message in hand.
    pub(super) fn take(self: &std::sync::Arc<Self>) -> InHand {
        self.hands.full.fetch_add(1, Ordering::Relaxed);
        InHand(self.clone())
    }

    /// How many messages may be taken now.
    pub(super) async fn room(&self) -> Result<usize, StoreError> {
        Ok(self.room_in(&self.ask_fleet().await?))
    }

    /// Waits until a message may be taken; says how many. While the fleet is paused it
    /// looks after what the pause waits for.
    pub(super) async fn admitted(&self) -> Result<usize, StoreError> {
        loop {
            let fleet = self.ask_fleet().await?;
            let room = self.room_in(&fleet);
            if room > 0 {
                return Ok(room);
            }
            if let (None, Some(reason)) = (&fleet.stopped_reason, &fleet.paused_reason)
                && self.ended_pause(reason).await?
            {
                continue;
            }
            tokio::select! {
                () = self.hands.freed.notified() => {}
                () = tokio::time::sleep(self.settings.probe_interval) => {}
            }
        }
    }

    /// A message came to its end. On trial that is one more without a crash.
    pub(super) async fn ended_without_crash(&self) -> Result<(), StoreError> {
        if !self.hands.on_trial.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.store.insist(|| self.store.advance_trial()).await
    }

    async fn ask_fleet(&self) -> Result<Fleet, StoreError> {
        let judge = self.keeper.incarnation;
        let rules = self.rules();
        let fleet = self.store.insist(|| self.store.fleet(judge, rules)).await?;
        self.hands
            .on_trial
            .store(fleet.trial_left.is_some(), Ordering::Relaxed);
        Ok(fleet)
    }

    fn room_in(&self, fleet: &Fleet) -> usize {
        let full = self.hands.full.load(Ordering::Relaxed);
        fleet
            .in_hand(self.settings.concurrency as usize)
            .saturating_sub(full)
    }

    async fn ended_pause(&self, reason: &str) -> Result<bool, StoreError> {
        if reason == OPERATOR && defect!("operators-pause-ends-by-itself") {
            return self
                .store
                .insist(|| self.store.end_pause(reason, 0.0))
                .await;
        }
        if reason == OPERATOR || defect!("pause-never-ends") {
            return Ok(false);
        }
        if reason == SEVERAL_DEATHS {
            let asked = if defect!("one-dependency-probed-after-deaths") {
                1
            } else {
                Dependency::ALL.len()
            };
            for dependency in Dependency::ALL.into_iter().take(asked) {
                if !self.probes.is_well(dependency).await || defect!("deaths-always-taken-back") {
                    tracing::warn!("several deaths while the {} is ill", dependency.name());
                    self.store
                        .insist(|| self.store.blame_deaths_on(dependency.name()))
                        .await?;
                    return Ok(false);
                }
            }
            return self
                .store
                .insist(|| self.store.end_pause(reason, 0.0))
                .await;
        }
        let Some(dependency) = Dependency::named(reason) else {
            return Ok(false);
        };
        if !defect!("pause-ends-without-a-probe") && !self.probes.is_well(dependency).await {
            return Ok(false);
        }
        let at_least = self.settings.outage_pause.as_secs_f64();
        let ended = self
            .store
            .insist(|| self.store.end_pause(reason, at_least))
            .await?;
        if ended {
            tracing::info!("the {reason} is well again; going on");
        }
        Ok(ended)
    }
}
