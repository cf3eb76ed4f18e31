//! Waiting until nothing more will happen by itself.
//!
//! Quiet means: no fault at work, no call held, nothing in hand of a living owner; each
//! consumer began a receive after its last effect and the queues hold nothing for it;
//! each background timer ticked since the last effect of anybody else. A message that was
//! accepted and is nowhere keeps it waiting for as long as it may take.

use std::time::Duration;

use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::judge::OWNERLESS;
use crate::manifest::Protocol;

/// Between two looks at queue attributes of a service that tells of no changes.
const TICK: Duration = Duration::from_millis(20);

/// It did not become quiet in time.
#[derive(Debug, thiserror::Error)]
#[error("not quiet after {within:?}: {}{}", .reasons.join("; "), lasting(.own))]
pub struct NotQuiet {
    /// The limit (`limits.quiet`).
    pub within: Duration,
    /// What still went on.
    pub reasons: Vec<String>,
    /// What the scenario itself does to the system, and had not ended.
    pub own: Vec<String>,
}

/// Names what a scenario itself does to the system and has not ended, if anything: what
/// seems to be the system's failure may be its consequence.
fn lasting(own: &[String]) -> String {
    if own.is_empty() {
        return String::new();
    }
    format!(
        "\nthe scenario's own doing is still on: {}; either it never ends, or the system never brings its end about",
        own.join("; ")
    )
}

impl NotQuiet {
    /// Whether nothing but the harness's own faults and holds keeps it from being quiet.
    pub fn is_own_doing(&self) -> bool {
        let own = |reason: &String| HELD.iter().any(|prefix| reason.starts_with(prefix));
        !self.reasons.is_empty() && self.reasons.iter().all(own)
    }
}

/// How the reasons begin that the harness itself is the cause of.
const HELD: [&str; 2] = ["held: ", "armed: "];

/// What a wait for quiet came to.
#[derive(Debug, thiserror::Error)]
pub enum Unrest {
    /// It did not become quiet.
    #[error(transparent)]
    NotQuiet(#[from] NotQuiet),
    /// It will not: consumption stopped.
    #[error("{0}")]
    Stopped(String),
}

impl Rehearsal {
    /// Waits until everything is quiet.
    ///
    /// # Errors
    /// When a dependency cannot be asked. The inner error says that it did not become
    /// quiet in time, and what went on.
    pub async fn quiet(&mut self) -> Result<Result<(), Unrest>, RehearsalError> {
        let within = self.manifest.limits.quiet;
        let begun = tokio::time::Instant::now();
        // A system that goes on working gets more time, as far as the step allows.
        let last = begun
            + (2 * within)
                .min(self.manifest.limits.step.mul_f64(0.9))
                .max(within);
        let mut deadline = begun + within;
        let mut effect = self.board.last_effect();
        let mut watch = self.board.history().watch();
        loop {
            watch.mark_unchanged();
            let now = self.board.last_effect();
            if now > effect {
                effect = now;
                deadline = (tokio::time::Instant::now() + within).min(last);
            }
            if let Some(error) = self.processes.broken() {
                return Err(super::ProcessError::Broken(error).into());
            }
            if let Some(stop) = self.unexpected_stop() {
                return Ok(Err(Unrest::Stopped(stop)));
            }
            let before = self.board.history().last();
            let starting = self.processes.starting();
            let mut reasons = match self.board.busy(&starting) {
                Err(busy) => busy.0,
                Ok(()) => self.unsettled_queues().await?,
            };
            if reasons.is_empty() {
                reasons = self.backlogs().await?;
            }
            // Consumers that rest leave messages where they are, and ask for none.
            let rests = !reasons.is_empty()
                && self.board.busy_at_rest(&starting).is_ok()
                && self.rests().await?;
            if rests {
                self.note_quiet().await?;
                return Ok(Ok(()));
            }
            if reasons.is_empty() && self.board.history().last() == before {
                // Whoever answers before it sends may be about to send.
                let late = tokio::time::Instant::now() >= deadline;
                if late || !self.any_nowhere() {
                    self.note_quiet().await?;
                    return Ok(Ok(()));
                }
                tokio::select! {
                    _ = watch.changed() => {}
                    () = tokio::time::sleep_until(deadline) => {}
                }
                continue;
            }
            tokio::select! {
                _ = watch.changed() => {}
                () = tokio::time::sleep(TICK) => {}
                () = tokio::time::sleep_until(deadline) => {
                    return Ok(Err(NotQuiet { within, reasons, own: self.own_doings() }.into()));
                }
            }
        }
    }

    fn own_doings(&self) -> Vec<String> {
        let mut own = self.board.outages().in_force();
        own.extend(self.board.standing());
        own
    }

    /// [`NotQuiet::own`] in words, after a line break; nothing if there is none.
    pub fn still_on(&self) -> String {
        lasting(&self.own_doings())
    }

    /// Whether a message was accepted and is nowhere to be seen: still on its way, or lost.
    fn any_nowhere(&self) -> bool {
        self.ledger(|ledger| {
            let mut accounts = ledger.accounts.values();
            accounts.any(|account| account.is_unsettled() && !account.is_sent())
        })
    }

    /// What waits for timers whose process is alive.
    async fn backlogs(&self) -> Result<Vec<String>, RehearsalError> {
        let mut reasons = Vec::new();
        for background in &self.manifest.background {
            let Some(backlog) = &background.backlog else {
                continue;
            };
            if self.processes.running(&background.role, None).is_empty() {
                continue;
            }
            let figure = self
                .dependencies
                .figure(&backlog.dependency, &backlog.query, None)
                .await?;
            let waiting: i64 = figure.values().sum();
            if waiting > 0 {
                reasons.push(format!("{waiting} wait for the {}", background.role));
            }
        }
        Ok(reasons)
    }

    async fn note_quiet(&self) -> Result<(), RehearsalError> {
        if let Some(mode) = self.mode().await? {
            self.note_ownerless(&mode).await?;
            let configured = self.configured_in_hand();
            self.board
                .history()
                .append(Event::Consumption { mode, configured });
        }
        self.board.history().append(Event::Quiet);
        Ok(())
    }

    /// A consumer judges the dead when it asks for more; one that rests does not.
    async fn note_ownerless(&self, mode: &str) -> Result<(), RehearsalError> {
        let consumption = self.manifest.consumption.as_ref();
        let normal = consumption.filter(|consumption| consumption.normal == mode);
        let Some(claim) = normal.and_then(|consumption| consumption.ownerless.as_ref()) else {
            return Ok(());
        };
        let figure = self
            .dependencies
            .figure(&claim.dependency, &claim.query, None)
            .await?;
        self.board.history().append(Event::Counted {
            total: OWNERLESS.to_owned(),
            label: None,
            source: "claim".to_owned(),
            value: figure.values().sum(),
        });
        Ok(())
    }

    /// Messages in queues that somebody alive consumes.
    async fn unsettled_queues(&self) -> Result<Vec<String>, RehearsalError> {
        let mut reasons = Vec::new();
        for (name, dependency) in &self.manifest.dependencies {
            let Protocol::Sqs { queues } = &dependency.protocol else {
                continue;
            };
            for queue in queues.keys() {
                if !self.board.has_consumer(name, queue) {
                    continue;
                }
                let counts = self.dependencies.counts(name, queue).await?;
                if counts.all() > 0 {
                    reasons.push(format!(
                        "{name}/{queue} holds {} visible, {} in flight, {} delayed",
                        counts.visible, counts.in_flight, counts.delayed
                    ));
                }
            }
        }
        Ok(reasons)
    }
}
