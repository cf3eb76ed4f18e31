//! Waiting until nothing more will happen by itself.
//!
//! Quiet means: no fault at work, no call held, nothing in hand of a living owner; each
//! consumer began a receive after its last effect and the queues hold nothing for it;
//! each background timer ticked since the last effect of anybody else.

use std::time::Duration;

use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::manifest::Protocol;

/// Between two looks at queue attributes of a service that tells of no changes.
const TICK: Duration = Duration::from_millis(20);

/// It did not become quiet in time.
#[derive(Debug, thiserror::Error)]
#[error("not quiet after {within:?}: {}", .reasons.join("; "))]
pub struct NotQuiet {
    /// The limit (`limits.quiet`).
    pub within: Duration,
    /// What still went on.
    pub reasons: Vec<String>,
}

impl Rehearsal {
    /// Waits until everything is quiet.
    ///
    /// # Errors
    /// When a dependency cannot be asked. The inner error says that it did not become
    /// quiet in time, and what went on.
    pub async fn quiet(&mut self) -> Result<Result<(), NotQuiet>, RehearsalError> {
        let within = self.manifest.limits.quiet;
        let deadline = tokio::time::Instant::now() + within;
        let mut watch = self.board.history().watch();
        loop {
            watch.mark_unchanged();
            if let Some(error) = self.processes.broken() {
                return Err(super::ProcessError::Broken(error).into());
            }
            let before = self.board.history().last();
            let reasons = match self.board.busy(&self.processes.starting()) {
                Err(busy) => busy.0,
                Ok(()) => {
                    let mut reasons = self.unsettled_queues().await?;
                    reasons.extend(self.backlogs().await?);
                    reasons
                }
            };
            if reasons.is_empty() && self.board.history().last() == before {
                self.board.history().append(Event::Quiet);
                return Ok(Ok(()));
            }
            tokio::select! {
                _ = watch.changed() => {}
                () = tokio::time::sleep(TICK) => {}
                () = tokio::time::sleep_until(deadline) => {
                    return Ok(Err(NotQuiet { within, reasons }));
                }
            }
        }
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
