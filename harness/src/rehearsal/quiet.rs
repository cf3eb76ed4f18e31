//! Waiting until nothing more will happen by itself.
//!
//! Quiet means: no fault at work, no call held, nothing in hand of a living owner; each
//! consumer began a receive after its last effect and the queues hold nothing for it;
//! each background timer ticked since the last effect of anybody else. A message that was
//! accepted and is nowhere keeps it waiting for as long as it may take.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::progress::Progress;
use super::settling::Settling;
use super::unrest::{NotQuiet, Pace, Reason, Unrest, lasting};
use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::ids::Incarnation;
use crate::judge::OWNERLESS;
use crate::manifest::Backlog;

/// Between two looks at queue attributes of a service that tells of no changes.
const TICK: Duration = Duration::from_millis(20);
/// After a look, however much goes on: each entry is a change, and thousands come in a second.
const PAUSE: Duration = Duration::from_millis(4);
/// A timer that makes no call for so long has nothing to do.
pub(super) const REST: Duration = Duration::from_secs(1);
/// Whoever deleted a message early and does nothing but receive for so long does not work
/// on it any more. Workers whose main process receives while others compute are silent for
/// as long as they compute.
pub(super) const LONG_REST: Duration = Duration::from_secs(10);

impl Rehearsal {
    /// Waits until everything is quiet.
    ///
    /// # Errors
    /// When a dependency cannot be asked. The inner error says that it did not become
    /// quiet in time, and what went on.
    pub async fn quiet(&mut self) -> Result<Result<(), Unrest>, RehearsalError> {
        let within = self.manifest.limits.quiet;
        let begun = Instant::now();
        // A system that goes on working gets more time, as far as the step allows.
        let step = self.manifest.limits.step.mul_f64(0.9);
        let last = begun + (2 * within).min(step).max(within);
        // While somebody is starting nothing can be asked of it.
        let last_start = begun + step.max(within);
        let mut deadline = begun + within;
        let mut effect = self.board.last_effect();
        let mut watch = self.board.history().watch();
        let mut progress = Progress::new();
        let mut released = BTreeSet::new();
        let mut settling = Settling::new(self.manifest.settle, effect, begun);
        loop {
            watch.mark_unchanged();
            let now = self.board.last_effect();
            if now > effect {
                effect = now;
                deadline = (Instant::now() + within).min(last);
            }
            if let Some(error) = self.processes.broken() {
                return Err(super::ProcessError::Broken(error).into());
            }
            if let Some(stop) = self.unexpected_stop() {
                return Ok(Err(Unrest::Stopped(stop)));
            }
            let before = self.board.history().last();
            let mut reasons = self.reasons(&mut progress).await?;
            reasons.extend(settling.remains(self.board.last_effect(), Instant::now()));
            self.board.history().read(|entries| progress.read(entries));
            let start = progress.start_under_way(&self.manifest);
            if start.is_some() {
                deadline = deadline.max((Instant::now() + within).min(last_start));
            }
            let late = Instant::now() >= deadline;
            // Who asks without a pause never leaves the record as it was.
            let still = self.board.history().last() == before
                || (late && self.board.last_effect() == now && self.unchanged_since(before));
            if reasons.is_empty() && still {
                // Whoever answers before it sends may be about to send.
                if late || !self.any_on_its_way() {
                    self.note_quiet().await?;
                    return Ok(Ok(()));
                }
                tokio::select! {
                    _ = watch.changed() => {}
                    () = tokio::time::sleep(5 * TICK) => {}
                    () = tokio::time::sleep_until(deadline) => {}
                }
                continue;
            }
            if late && !reasons.is_empty() {
                let not_quiet = NotQuiet {
                    within,
                    pace: start.map_or_else(|| progress.pace(within), |seq| Pace::GetsOn { seq }),
                    own: self.own_doings(),
                    reasons: self.told(reasons),
                };
                return Ok(Err(Box::new(not_quiet).into()));
            }
            // Nothing else is waited for, and nothing happens before a poll's time is over.
            let polls = |reason: &Reason| matches!(reason, Reason::NotAsked { ever: true, .. });
            if !reasons.is_empty() && reasons.iter().all(polls) {
                for poll in self.board.stale_polls() {
                    if released.insert(poll.clone()) {
                        self.release_polls(&poll.0, &poll.1).await?;
                    }
                }
            }
            tokio::time::sleep(PAUSE).await;
            tokio::select! {
                _ = watch.changed() => {}
                () = tokio::time::sleep(TICK) => {}
                () = tokio::time::sleep_until(deadline), if !late => {}
            }
        }
    }

    /// What keeps it from being quiet at this moment.
    async fn reasons(&self, progress: &mut Progress) -> Result<Vec<Reason>, RehearsalError> {
        let starting = self.processes.starting();
        let mut reasons = self.board.busy(&starting);
        let (idle, waiting) = self.idle_timers(&reasons).await?;
        reasons.retain(|reason| !idle.contains(reason));
        reasons.extend(waiting);
        if reasons.is_empty() {
            reasons = self.unsettled_queues().await?;
        }
        // Consumers that rest leave messages where they are, and ask for none.
        if !reasons.is_empty() {
            let mut at_rest = self.board.busy_at_rest(&starting);
            at_rest.retain(|reason| !idle.contains(reason));
            if at_rest.is_empty() && self.rests().await? {
                reasons.clear();
            }
        }
        if reasons.is_empty() {
            reasons = self.backlogs(progress).await?;
        }
        Ok(reasons)
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
    /// One that was deleted before its end may be in the hands of whoever deleted it.
    fn any_on_its_way(&self) -> bool {
        let works = |by: &Incarnation| {
            self.board.is_registered(by)
                && !self.board.is_left_standing(by)
                && !self.board.is_at_rest(by, self.rest)
        };
        self.ledger(|ledger| {
            let mut accounts = ledger.accounts.values();
            accounts.any(|account| {
                let deleted = || {
                    let by = account.deletions.iter().filter_map(|one| one.by.as_ref());
                    account.left().is_empty() && by.into_iter().any(works)
                };
                account.is_unsettled() && (!account.is_sent() || deleted())
            })
        })
    }

    /// What waits for timers whose process is alive, unless the scenario keeps it from
    /// them for good.
    async fn backlogs(&self, progress: &mut Progress) -> Result<Vec<Reason>, RehearsalError> {
        let mut reasons = Vec::new();
        for background in &self.manifest.background {
            let Some(backlog) = &background.backlog else {
                continue;
            };
            let role = &background.role;
            if self.processes.running(role, None).is_empty()
                || self.board.is_kept_from_work(role)
                || self.board.is_all_left_standing(role)
            {
                continue;
            }
            let role = role.clone();
            match self.waiting(backlog).await? {
                None => reasons.push(Reason::Unanswered { role }),
                Some(waiting) => {
                    progress.waits(&role, waiting);
                    if waiting > 0 {
                        reasons.push(Reason::Backlog { role, waiting });
                    }
                }
            }
        }
        Ok(reasons)
    }

    /// Timers that have nothing to do: nothing waits for them, they have no transaction or
    /// call open, and they have looked since the last effect, or made no call for a while:
    /// what is woken by something else than time (a notice, say) does not look again by
    /// itself. Beside them: what waits for those that have come to rest all the same.
    async fn idle_timers(
        &self,
        reasons: &[Reason],
    ) -> Result<(Vec<Reason>, Vec<Reason>), RehearsalError> {
        let (mut idle, mut backlogs) = (Vec::new(), Vec::new());
        for reason in reasons {
            let Reason::NotTicked {
                timer, incarnation, ..
            } = reason
            else {
                continue;
            };
            let backlog = self.manifest.background[*timer].backlog.as_ref();
            // A query costs little; whoever is asked otherwise is asked of those at rest alone.
            let rests = |backlog: &Backlog| {
                matches!(backlog, Backlog::Query(_)) && self.board.has_looked(*timer, incarnation)
                    || self.board.is_at_rest(incarnation, REST)
            };
            let Some(backlog) = backlog.filter(|backlog| rests(backlog)) else {
                continue;
            };
            match self.waiting(backlog).await? {
                Some(0) => idle.push(reason.clone()),
                Some(waiting) => backlogs.push(Reason::Backlog {
                    role: incarnation.role.clone(),
                    waiting,
                }),
                None => {}
            }
        }
        Ok((idle, backlogs))
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
    async fn unsettled_queues(&self) -> Result<Vec<Reason>, RehearsalError> {
        let mut reasons = Vec::new();
        for (dependency, queue) in self.board.without_consumer() {
            let holds = self.dependencies.counts(&dependency, &queue).await?.all();
            if holds > 0 {
                reasons.push(Reason::Unconsumed {
                    dependency,
                    queue,
                    holds,
                });
            }
        }
        for (name, dependency) in &self.manifest.dependencies {
            for queue in dependency.protocol.queues() {
                if !self.board.has_consumer(name, queue) {
                    continue;
                }
                let mut counts = self.dependencies.counts(name, queue).await?;
                let waiting = self.dependencies.seen_waiting(name, queue);
                counts.visible = counts.visible.max(waiting);
                if counts.all() > 0 {
                    reasons.push(Reason::Queue {
                        dependency: name.clone(),
                        queue: queue.clone(),
                        visible: counts.visible,
                        in_flight: counts.in_flight,
                        delayed: counts.delayed,
                    });
                }
            }
        }
        Ok(reasons)
    }
}
