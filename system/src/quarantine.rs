//! The hand-over to quarantine, by whoever meets the message: a worker or the reconciler.

use std::time::Duration;

use uuid::Uuid;

use crate::config;
use crate::documents::{DocumentError, DocumentStore};
use crate::queue::Delivery;
use crate::store::attempts::AttemptKey;
use crate::store::quarantine::{HandOver, Kept};
use crate::store::{Store, StoreError};

/// Whether the record is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandedOver {
    /// It is, by us or by somebody before us.
    Done,
    /// The document cannot be read now. Content is never cut, so the hand-over waits for a
    /// later receive.
    Waits,
    /// The fleet is stopped; the message stays in its queue.
    Stopped,
    /// A failure that it rested on was taken back meanwhile: the next receive decides anew.
    Reversed,
}

/// Why a job is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground {
    pub(crate) label: &'static str,
    /// How many failures that rests on.
    pub(crate) failures: i64,
}

/// Where a message is handed over to, and within which limits.
pub(crate) struct Quarantine<'a> {
    pub(crate) store: &'a Store,
    pub(crate) documents: &'a DocumentStore,
    pub(crate) limits: config::Quarantine,
}

/// How often a refused record is tried again before the fleet stops.
const TRIES: u32 = 3;
/// Between two tries.
const RETRY: Duration = Duration::from_millis(100);

impl Quarantine<'_> {
    /// Puts a job into quarantine, with its document as the store holds it.
    pub(crate) async fn hand_over(
        &self,
        delivery: &Delivery,
        job: Uuid,
        ground: Ground,
        document: &str,
    ) -> Result<HandedOver, StoreError> {
        let mut read = self.documents.read(document).await;
        if let Ok(document) = &mut read {
            if defect!("content-reencoded") {
                let text = String::from_utf8_lossy(&document.content);
                document.content = text.into_owned().into_bytes();
            }
            if defect!("content-cut") {
                document.content.truncate(64);
            }
            if defect!("content-without-its-last-byte") {
                document.content.pop();
            }
        }
        let mut record = record(delivery, ground.label, "");
        record.failures = ground.failures;
        let why_not;
        match &read {
            Ok(document) => {
                record.content = &document.content;
                record.media_type = Some(&document.media_type);
            }
            Err(error @ DocumentError::Refused(_)) => {
                why_not = error.to_string();
                record.diagnostics = &why_not;
            }
            Err(error) => {
                tracing::warn!(%job, "the hand-over waits: {error}");
                return Ok(HandedOver::Waits);
            }
        }
        self.keep(|| self.store.quarantine_job(job, &record, self.limits))
            .await
    }

    /// Puts a message into quarantine that names no job of ours. Where a worker met it,
    /// its attempt ends with it.
    pub(crate) async fn set_aside(
        &self,
        delivery: &Delivery,
        attempt: Option<&AttemptKey>,
        label: &'static str,
        why: &str,
    ) -> Result<HandedOver, StoreError> {
        let record = record(delivery, label, why);
        self.keep(|| self.store.quarantine_message(attempt, &record, self.limits))
            .await
    }

    /// Writes a record. A quarantine that refuses it while the database is well otherwise
    /// stops the fleet: going on would lose messages.
    async fn keep<F>(&self, mut write: impl FnMut() -> F) -> Result<HandedOver, StoreError>
    where
        F: Future<Output = Result<Kept, StoreError>>,
    {
        let mut tries = 0;
        loop {
            match write().await {
                Ok(Kept::Durably) => return Ok(HandedOver::Done),
                Ok(Kept::Reversed) => return Ok(HandedOver::Reversed),
                Ok(Kept::Stopped) => {
                    tracing::error!("the fleet is stopped; see `operator status`");
                    return Ok(HandedOver::Stopped);
                }
                Err(_) if defect!("refused-record-drops-its-message") => {
                    return Ok(HandedOver::Done);
                }
                Err(_) if defect!("refused-record-stops-nobody") => return Ok(HandedOver::Waits),
                Err(error) => tracing::warn!("{}", crate::text(error)),
            }
            if self.store.answers().await.is_ok() {
                tries += 1;
            }
            if tries >= TRIES {
                let reason = "quarantine refuses writes";
                self.store.insist(|| self.store.stop_fleet(reason)).await?;
                tracing::error!("{reason}: the fleet is stopped");
                return Ok(HandedOver::Stopped);
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

fn record<'a>(delivery: &'a Delivery, label: &'static str, diagnostics: &'a str) -> HandOver<'a> {
    HandOver {
        message_id: &delivery.message_id,
        label,
        body: if defect!("body-not-kept") {
            b""
        } else {
            delivery.body.as_bytes()
        },
        content: delivery.body.as_bytes(),
        media_type: None,
        diagnostics,
        failures: 0,
    }
}
