//! The reconciler: the dead-letter queue says only that a message was received too often.
//! What became of its job stands in the database, and is settled there before the message
//! is removed.

use std::time::Duration;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::documents::DocumentStore;
use crate::message;
use crate::quarantine::{HandedOver, Quarantine};
use crate::queue::{Delivery, Queue, QueueError};
use crate::session::Keeper;
use crate::store::reconciliation::Finding;
use crate::store::{Store, StoreError};
use crate::{config, shutdown};

/// How long to wait after the queue refused a receive.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a reconciliation ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcilerError {
    /// The signal handlers could not be installed.
    #[error("cannot listen for signals")]
    Signals(#[from] std::io::Error),
    /// A setting makes no sense.
    #[error("a setting makes no sense: {0}")]
    Setting(String),
    /// The database refuses what only a person can mend.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue does not answer.
    #[error(transparent)]
    Queue(#[from] QueueError),
}

/// What was done with the messages of one round.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Reconciled {
    /// Their jobs had ended before: the messages are removed, the states untouched.
    pub(crate) ended: u32,
    /// Their jobs became `failed`.
    pub(crate) failed: u32,
    /// They went to quarantine: outcome unknown, undecodable, or no job of ours.
    pub(crate) quarantined: u32,
    /// Somebody may still commit them.
    pub(crate) waiting: u32,
}

/// Carries messages of the dead-letter queue to their end.
pub(crate) struct Reconciler {
    settings: config::Reconciler,
    store: Store,
    queue: Queue,
    documents: DocumentStore,
    keeper: Keeper,
}

/// Runs until SIGTERM.
pub(crate) async fn run(settings: config::ReconcilerRole) -> Result<(), ReconcilerError> {
    let requested = shutdown::requested()?;
    let stop = CancellationToken::new();
    tokio::spawn({
        let stop = stop.clone();
        async move {
            requested.await;
            stop.cancel();
        }
    });
    let store = Store::connect(&settings.database, "reconciler", 2).await?;
    let reconciler = Reconciler::open(store, settings.reconciler).await?;
    while !stop.is_cancelled() {
        let wait = reconciler.settings.wait_time;
        let round = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            batch = reconciler.receive(wait) => batch,
        };
        match round {
            Ok(batch) => {
                reconciler.settle(batch).await?;
            }
            Err(error) => {
                tracing::warn!("{error}");
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(PAUSE) => {}
                }
            }
        }
    }
    reconciler.close().await
}

impl Reconciler {
    /// Begins an incarnation of its own: only somebody who is alive may judge.
    pub(crate) async fn open(
        store: Store,
        settings: config::Reconciler,
    ) -> Result<Self, ReconcilerError> {
        let documents = DocumentStore::new(&settings.document_store_url, settings.document_timeout)
            .map_err(ReconcilerError::Setting)?;
        let session = store.open_session(settings.lease, 1).await?;
        Ok(Self {
            queue: Queue::new(&settings.sqs, &settings.dead_letter_url),
            keeper: Keeper::start(session, settings.lease),
            documents,
            store,
            settings,
        })
    }

    /// Settles what stands in the dead-letter queue now.
    pub(crate) async fn once(&self) -> Result<Reconciled, ReconcilerError> {
        let mut all = Reconciled::default();
        loop {
            let batch = self.receive(Duration::ZERO).await?;
            if batch.is_empty() {
                return Ok(all);
            }
            let round = self.settle(batch).await?;
            all.ended += round.ended;
            all.failed += round.failed;
            all.quarantined += round.quarantined;
            all.waiting += round.waiting;
        }
    }

    /// Ends its incarnation.
    pub(crate) async fn close(&self) -> Result<(), ReconcilerError> {
        Ok(self
            .store
            .incarnation_ended(self.keeper.incarnation)
            .await?)
    }

    async fn receive(&self, wait: Duration) -> Result<Vec<Delivery>, QueueError> {
        self.queue.receive(10, wait, self.settings.again).await
    }

    async fn settle(&self, batch: Vec<Delivery>) -> Result<Reconciled, StoreError> {
        let mut round = Reconciled::default();
        for delivery in batch {
            let Some(count) = self.reconcile(&delivery, &mut round).await? else {
                // It comes back by itself after `again`.
                round.waiting += 1;
                continue;
            };
            if let Err(error) = self.queue.delete(&delivery.receipt).await {
                tracing::warn!(message_id = delivery.message_id, "{error}");
            }
            *count += 1;
        }
        Ok(round)
    }

    /// Settles one message; says where it counts, or nothing while its job may still be
    /// committed.
    async fn reconcile<'a>(
        &self,
        delivery: &Delivery,
        round: &'a mut Reconciled,
    ) -> Result<Option<&'a mut u32>, StoreError> {
        let job = match message::job(&delivery.body) {
            Ok(job) => job,
            Err(error) => {
                let why = error.to_string();
                let kept = self
                    .quarantine()
                    .set_aside(delivery, None, "undecodable", &why)
                    .await?;
                return Ok(kept_in(kept, round));
            }
        };
        let judge = self.keeper.incarnation;
        let finding = self
            .store
            .insist(|| self.store.reconcile(delivery, job, judge))
            .await?;
        tracing::info!(%job, message_id = delivery.message_id, ?finding);
        Ok(match finding {
            Finding::Ended => Some(&mut round.ended),
            Finding::Failed => Some(&mut round.failed),
            Finding::Open => None,
            Finding::OutcomeUnknown { document } => {
                let quarantine = self.quarantine();
                let kept = quarantine
                    .hand_over(delivery, job, "outcome unknown", &document)
                    .await?;
                kept_in(kept, round)
            }
            Finding::NoJob => {
                let why = "no job has this id";
                let kept = self
                    .quarantine()
                    .set_aside(delivery, None, "unknown job", why)
                    .await?;
                kept_in(kept, round)
            }
        })
    }

    fn quarantine(&self) -> Quarantine<'_> {
        Quarantine {
            store: &self.store,
            documents: &self.documents,
            limits: self.settings.quarantine,
        }
    }
}

/// A message that could not be handed over now stays where it is.
fn kept_in(kept: HandedOver, round: &mut Reconciled) -> Option<&mut u32> {
    (kept == HandedOver::Done).then_some(&mut round.quarantined)
}
