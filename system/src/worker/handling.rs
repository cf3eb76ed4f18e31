//! One message, from its attempt's row to the end of its receipt.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;
use uuid::Uuid;

use super::Worker;
use super::visibility::Extension;
use super::working::Work;
use crate::documents::DocumentError;
use crate::queue::Delivery;
use crate::store::StoreError;
use crate::store::attempts::{AttemptKey, Ending};
use crate::store::decision::Decision;
use crate::store::quarantine::HandOver;

/// The longest back-off between two attempts.
const LONGEST_BACKOFF: Duration = Duration::from_mins(15);

/// What the queue carries.
#[derive(Deserialize)]
struct Body {
    job_id: Uuid,
}

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
        let job = match serde_json::from_str::<Body>(&delivery.body) {
            Ok(body) => body.job_id,
            Err(error) => {
                return self
                    .set_aside(delivery, attempt, "undecodable", &error.to_string())
                    .await;
            }
        };
        let judge = self.keeper.incarnation;
        let limit = self.settings.attempt_limit;
        let decision = self
            .store
            .insist(|| self.store.decide(attempt, job, judge, limit))
            .await?;
        tracing::info!(%job, message = attempt.message_id, number = attempt.number, ?decision);
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
                self.hand_over(delivery, attempt, job, label, &document)
                    .await
            }
            Decision::UnknownJob => {
                self.set_aside(delivery, attempt, "unknown job", "no job has this id")
                    .await
            }
        }
    }

    /// Puts a message that names no job of ours into quarantine.
    async fn set_aside(
        &self,
        delivery: &Delivery,
        attempt: &AttemptKey,
        label: &'static str,
        why: &str,
    ) -> Result<Receipt, StoreError> {
        let ending = Ending {
            state: "failed",
            counted: true,
            reason: label,
            diagnostics: why.to_owned(),
        };
        let record = HandOver {
            message_id: &attempt.message_id,
            label,
            body: delivery.body.as_bytes(),
            content: delivery.body.as_bytes(),
            media_type: None,
            diagnostics: why,
        };
        self.store
            .insist(|| self.store.quarantine_message(attempt, &ending, &record))
            .await?;
        Ok(Receipt::Delete)
    }

    /// Puts a job into quarantine with the document as the store holds it. While the store
    /// is not well the hand-over waits for a later receive: content is never cut.
    async fn hand_over(
        &self,
        delivery: &Delivery,
        attempt: &AttemptKey,
        job: Uuid,
        label: &'static str,
        document: &str,
    ) -> Result<Receipt, StoreError> {
        let read = self.documents.read(document).await;
        let mut record = HandOver {
            message_id: &attempt.message_id,
            label,
            body: delivery.body.as_bytes(),
            content: delivery.body.as_bytes(),
            media_type: None,
            diagnostics: "",
        };
        let why_not;
        match &read {
            Ok(document) => {
                record.content = &document.content;
                record.media_type = Some(&document.media_type);
            }
            Err(error @ DocumentError::Unwell(_)) => {
                tracing::warn!(%job, "the hand-over waits: {error}");
                return Ok(Receipt::Release(self.backoff(attempt)));
            }
            Err(error @ DocumentError::Refused(_)) => {
                why_not = error.to_string();
                record.diagnostics = &why_not;
            }
        }
        self.store
            .insist(|| self.store.quarantine_job(job, &record))
            .await?;
        Ok(Receipt::Delete)
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
            tracing::warn!(message = delivery.message_id, "{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_with_a_job_id_is_decoded() {
        let good = r#"{"job_id":"0190b5b0-0000-7000-8000-000000000001","more":[1]}"#;
        assert!(serde_json::from_str::<Body>(good).is_ok());
        let deep = "[".repeat(100_000);
        let bad = [
            "",
            " \n",
            "hello",
            "[]",
            r#"{"job_id":7}"#,
            r#"{"job_id":"\ud800"}"#,
            &deep,
        ];
        for body in bad {
            assert!(serde_json::from_str::<Body>(body).is_err());
        }
    }
}
