//! One message, from its attempt's row to the end of its receipt.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::Worker;
use super::visibility::Extension;
use super::working::Work;
use crate::message;
use crate::quarantine::{Ground, HandedOver, Quarantine};
use crate::queue::Delivery;
use crate::store::StoreError;
use crate::store::attempts::AttemptKey;
use crate::store::decision::{Decision, Rules};
use crate::store::unread::Unread;

/// The longest back-off between two attempts.
const LONGEST_BACKOFF: Duration = Duration::from_mins(15);

/// What is to be done with a receipt once its message was dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// The job has a durable end.
    Delete,
    /// Another attempt may follow after this long.
    Release(Duration),
    /// Somebody else works on it.
    LeaveAlone,
}

impl Worker {
    /// Carries a recorded receive to its end.
    pub(super) async fn handle(
        &self,
        delivery: Delivery,
        attempt: AttemptKey,
    ) -> Result<(), StoreError> {
        let settings = &self.settings;
        let deadline = Instant::now() + settings.job_deadline;
        let extension = Extension::start(
            self.queue.clone(),
            delivery.receipt.clone(),
            settings.visibility_timeout,
            deadline + settings.outside_timeout,
        );
        if defect!("deleted-before-its-end") {
            self.settle(&delivery, Receipt::Delete).await;
        }
        let receipt = self.deal_with(&delivery, &attempt, deadline).await?;
        extension.stop().await;
        self.settle(&delivery, receipt).await;
        Ok(())
    }

    async fn deal_with(
        &self,
        delivery: &Delivery,
        attempt: &AttemptKey,
        deadline: Instant,
    ) -> Result<Receipt, StoreError> {
        let job = match self.job_of(delivery, attempt).await? {
            Ok(job) => job,
            Err(receipt) => return Ok(receipt),
        };
        let mut probed = false;
        loop {
            let decision = self.decide(attempt, job, probed).await?;
            tracing::info!(%job, message_id = attempt.message_id, number = attempt.number, ?decision);
            return match decision {
                Decision::Start {
                    document,
                    performed,
                } => {
                    let work = Work {
                        job,
                        attempt,
                        document: &document,
                        performed,
                        deadline,
                    };
                    let receipt = self.work(&work).await?;
                    self.ended_without_crash().await?;
                    Ok(receipt)
                }
                Decision::Duplicate if defect!("duplicate-not-deleted") => {
                    Ok(Receipt::Release(Duration::ZERO))
                }
                Decision::OwnerAlive if defect!("message-of-a-living-owner-deleted") => {
                    Ok(Receipt::Delete)
                }
                Decision::OwnerAlive if defect!("message-of-a-living-owner-released") => {
                    Ok(Receipt::Release(Duration::ZERO))
                }
                Decision::Duplicate => Ok(Receipt::Delete),
                Decision::OwnerAlive => Ok(Receipt::LeaveAlone),
                Decision::Pause => Ok(Receipt::Release(Duration::ZERO)),
                Decision::HandOver {
                    label,
                    document,
                    failures,
                } => {
                    if defect!("deleted-before-its-record") {
                        self.settle(delivery, Receipt::Delete).await;
                    }
                    let label = match label {
                        "outcome unknown" if defect!("unknown-outcome-called-attempt-limit") => {
                            "attempt limit"
                        }
                        label => label,
                    };
                    let ground = Ground { label, failures };
                    let kept = self
                        .quarantine()
                        .hand_over(delivery, job, ground, &document)
                        .await?;
                    self.ended_without_crash().await?;
                    Ok(self.after(kept, attempt))
                }
                Decision::UnknownJob => {
                    let why = "no job has this id";
                    let label = if defect!("unknown-job-called-undecodable") {
                        "undecodable"
                    } else {
                        "unknown job"
                    };
                    if defect!("unknown-job-dropped") {
                        return Ok(Receipt::Delete);
                    }
                    self.set_aside(delivery, attempt, label, why).await
                }
                Decision::ProbeFirst(dependency) => {
                    if self.probes.is_well(dependency).await {
                        probed = true;
                        continue;
                    }
                    self.store
                        .insist(|| self.store.declare_outage(dependency))
                        .await?;
                    self.store
                        .insist(|| self.store.step_back(attempt, "outage"))
                        .await?;
                    Ok(Receipt::Release(Duration::ZERO))
                }
            };
        }
    }

    /// The job that a message asks for, or what its receipt is worth without one. A body
    /// that killed its reader at the limit is not read again: whose it is then stands in
    /// the outbox, or nowhere.
    async fn job_of(
        &self,
        delivery: &Delivery,
        attempt: &AttemptKey,
    ) -> Result<Result<Uuid, Receipt>, StoreError> {
        let limit = self.settings.attempt_limit;
        let earlier = u32::try_from(attempt.number - 1).unwrap_or(0);
        if earlier >= limit && !defect!("unread-body-read-again") {
            let message_id = &attempt.message_id;
            let unread = self
                .store
                .insist(|| self.store.unread(message_id, limit))
                .await?;
            match unread {
                Unread::MayBeRead => {}
                Unread::Of(job) => return Ok(Ok(job)),
                Unread::OfNobody => {
                    self.store
                        .insist(|| self.store.step_back(attempt, "hand-over"))
                        .await?;
                    let why = "every attempt died before its body was read";
                    let kept = self
                        .quarantine()
                        .set_aside(delivery, None, "attempt limit", why)
                        .await?;
                    return Ok(Err(self.after(kept, attempt)));
                }
            }
        }
        self.checkpoint
            .reached("decoding", None, &attempt.message_id)
            .await;
        match message::job(&delivery.body) {
            Ok(job) => Ok(Ok(job)),
            Err(_) if defect!("foreign-body-kills-the-worker") => std::process::abort(),
            Err(_) if defect!("undecodable-dropped") => Ok(Err(Receipt::Delete)),
            Err(error) => {
                let why = error.to_string();
                if defect!("undecodable-tried-again") {
                    self.store
                        .insist(|| self.store.step_back(attempt, "undecodable"))
                        .await?;
                    return Ok(Err(Receipt::Release(Duration::ZERO)));
                }
                let receipt = self
                    .set_aside(delivery, attempt, "undecodable", &why)
                    .await?;
                Ok(Err(receipt))
            }
        }
    }

    /// Puts a message aside that names no job of ours; the attempt ends with it.
    async fn set_aside(
        &self,
        delivery: &Delivery,
        attempt: &AttemptKey,
        label: &'static str,
        why: &str,
    ) -> Result<Receipt, StoreError> {
        let kept = self
            .quarantine()
            .set_aside(delivery, Some(attempt), label, why)
            .await?;
        Ok(self.after(kept, attempt))
    }

    async fn decide(
        &self,
        attempt: &AttemptKey,
        job: Uuid,
        probed: bool,
    ) -> Result<Decision, StoreError> {
        let judge = self.keeper.incarnation;
        let rules = self.rules();
        self.store
            .insist(|| self.store.decide(attempt, job, judge, rules, probed))
            .await
    }

    pub(super) fn rules(&self) -> Rules {
        Rules {
            attempt_limit: self.settings.attempt_limit,
            deaths: self.settings.outage_after,
            death_window: self.settings.death_window,
        }
    }

    fn quarantine(&self) -> Quarantine<'_> {
        Quarantine {
            store: &self.store,
            documents: &self.documents,
            limits: self.settings.quarantine,
        }
    }

    /// What a receipt is worth after a hand-over: only a durable record lets it go.
    fn after(&self, kept: HandedOver, attempt: &AttemptKey) -> Receipt {
        match kept {
            HandedOver::Done if defect!("not-deleted-after-its-record") => {
                Receipt::Release(Duration::ZERO)
            }
            HandedOver::Done => Receipt::Delete,
            HandedOver::Waits if defect!("waiting-hand-over-not-paused") => {
                Receipt::Release(Duration::ZERO)
            }
            HandedOver::Waits => Receipt::Release(self.backoff(attempt)),
            HandedOver::Stopped if defect!("message-that-stops-the-fleet-dropped") => {
                Receipt::Delete
            }
            HandedOver::Stopped | HandedOver::Reversed => Receipt::Release(Duration::ZERO),
        }
    }

    /// Doubles with every attempt of the message, up to a quarter of an hour.
    pub(super) fn backoff(&self, attempt: &AttemptKey) -> Duration {
        if defect!("no-pause-between-attempts") {
            return Duration::ZERO;
        }
        if defect!("pause-between-attempts-too-long") {
            return LONGEST_BACKOFF;
        }
        let mut doublings = u32::try_from(attempt.number - 1).unwrap_or(0).min(16);
        if defect!("pauses-do-not-grow") {
            doublings = 0;
        }
        self.settings
            .retry_backoff
            .saturating_mul(1 << doublings)
            .min(LONGEST_BACKOFF)
    }

    /// A receipt that cannot be settled now comes back by itself, and is recognised then.
    async fn settle(&self, delivery: &Delivery, receipt: Receipt) {
        let settled = match receipt {
            Receipt::Delete => self.queue.delete(&delivery.receipt).await,
            Receipt::Release(after) => self.queue.reappear(&delivery.receipt, after).await,
            Receipt::LeaveAlone => Ok(()),
        };
        if let Err(error) = settled {
            tracing::warn!(message_id = delivery.message_id, "{error}");
        }
    }
}
