//! One message, from its attempt's row to the end of its receipt.

use std::time::Duration;

use tokio::time::Instant;

use super::Worker;
use super::visibility::Extension;
use super::working::Work;
use crate::message;
use crate::quarantine::{self, HandedOver};
use crate::queue::Delivery;
use crate::store::StoreError;
use crate::store::attempts::AttemptKey;
use crate::store::decision::Decision;

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
        let job = match message::job(&delivery.body) {
            Ok(job) => job,
            Err(error) => {
                let why = error.to_string();
                quarantine::set_aside(&self.store, delivery, Some(attempt), "undecodable", &why)
                    .await?;
                return Ok(Receipt::Delete);
            }
        };
        let judge = self.keeper.incarnation;
        let limit = self.settings.attempt_limit;
        let decision = self
            .store
            .insist(|| self.store.decide(attempt, job, judge, limit))
            .await?;
        tracing::info!(%job, message_id = attempt.message_id, number = attempt.number, ?decision);
        match decision {
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
                self.work(&work).await
            }
            Decision::Duplicate => Ok(Receipt::Delete),
            Decision::OwnerAlive => Ok(Receipt::LeaveAlone),
            Decision::HandOver { label, document } => {
                let documents = &self.documents;
                match quarantine::hand_over(&self.store, documents, delivery, job, label, &document)
                    .await?
                {
                    HandedOver::Done => Ok(Receipt::Delete),
                    HandedOver::Waits => Ok(Receipt::Release(self.backoff(attempt))),
                }
            }
            Decision::UnknownJob => {
                let why = "no job has this id";
                quarantine::set_aside(&self.store, delivery, Some(attempt), "unknown job", why)
                    .await?;
                Ok(Receipt::Delete)
            }
        }
    }

    /// Doubles with every attempt of the message, up to a quarter of an hour.
    pub(super) fn backoff(&self, attempt: &AttemptKey) -> Duration {
        let doublings = u32::try_from(attempt.number - 1).unwrap_or(0).min(16);
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
