//! The hand-over to quarantine, by whoever meets the message: a worker or the reconciler.

use uuid::Uuid;

use crate::documents::{DocumentError, DocumentStore};
use crate::queue::Delivery;
use crate::store::attempts::AttemptKey;
use crate::store::quarantine::HandOver;
use crate::store::{Store, StoreError};

/// Whether the record is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandedOver {
    /// It is, by us or by somebody before us.
    Done,
    /// The document cannot be read now. Content is never cut, so the hand-over waits for a
    /// later receive.
    Waits,
}

/// Puts a job into quarantine, with its document as the store holds it.
pub(crate) async fn hand_over(
    store: &Store,
    documents: &DocumentStore,
    delivery: &Delivery,
    job: Uuid,
    label: &'static str,
    document: &str,
) -> Result<HandedOver, StoreError> {
    let read = documents.read(document).await;
    let mut record = HandOver {
        message_id: &delivery.message_id,
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
            return Ok(HandedOver::Waits);
        }
        Err(error @ DocumentError::Refused(_)) => {
            why_not = error.to_string();
            record.diagnostics = &why_not;
        }
    }
    store.insist(|| store.quarantine_job(job, &record)).await?;
    Ok(HandedOver::Done)
}

/// Puts a message into quarantine that names no job of ours. Where a worker met it, its
/// only attempt ends with it.
pub(crate) async fn set_aside(
    store: &Store,
    delivery: &Delivery,
    attempt: Option<&AttemptKey>,
    label: &'static str,
    why: &str,
) -> Result<(), StoreError> {
    let record = HandOver {
        message_id: &delivery.message_id,
        label,
        body: delivery.body.as_bytes(),
        content: delivery.body.as_bytes(),
        media_type: None,
        diagnostics: why,
    };
    store
        .insist(|| store.quarantine_message(attempt, &record))
        .await
}
