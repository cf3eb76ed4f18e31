//! The reconciler: the dead-letter queue says only that a message was received too often.
//! What became of its job stands in the database, and is settled there before the message
//! is removed.

use std::time::Duration;

use serde::Serialize;
use uuid::Uuid;

use crate::documents::DocumentStore;
use crate::message;
use crate::quarantine::{Ground, HandedOver, Quarantine};
use crate::queue::{Delivery, Queue, QueueError};
use crate::session::Keeper;
use crate::store::reconciliation::Finding;
use crate::store::unread::Unread;
use crate::store::{Store, StoreError};
use crate::{config, shutdown};

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
    let stop = shutdown::requested()?;
    let opened = async {
        let store = Store::wait_for(&settings.database, "reconciler", 2).await?;
        Reconciler::open(store, settings.reconciler).await
    };
    let Some(reconciler) = stop.run_until_cancelled(opened).await.transpose()? else {
        return Ok(());
    };
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
                    () = tokio::time::sleep(reconciler.settings.sqs.pause) => {}
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
        let session = store
            .insist(|| store.open_session(settings.lease, 1))
            .await?;
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
            if defect!("dead-letter-deleted-first") {
                let _ = self.queue.delete(&delivery.receipt).await;
            }
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
        let job = match self.job_of(delivery).await? {
            Ok(job) => job,
            Err(why) => {
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
            Finding::Ended if defect!("finished-dead-letter-left") => None,
            Finding::Ended => Some(&mut round.ended),
            Finding::Failed => Some(&mut round.failed),
            Finding::Open => None,
            Finding::OutcomeUnknown { document } => {
                let quarantine = self.quarantine();
                let ground = Ground {
                    label: "outcome unknown",
                    failures: 0,
                };
                let kept = quarantine
                    .hand_over(delivery, job, ground, &document)
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

    /// The job that a dead letter asks for, or why nobody can say. A body that killed a
    /// worker which was to read it is not read here.
    async fn job_of(&self, delivery: &Delivery) -> Result<Result<Uuid, String>, StoreError> {
        let message_id = &delivery.message_id;
        let unread = self
            .store
            .insist(|| self.store.unread(message_id, 1))
            .await?;
        let unread = if defect!("unread-body-read-by-the-reconciler") {
            Unread::MayBeRead
        } else {
            unread
        };
        Ok(match unread {
            Unread::MayBeRead => message::job(&delivery.body).map_err(|error| error.to_string()),
            Unread::Of(job) => Ok(job),
            Unread::OfNobody => Err("a worker died before its body was read".into()),
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
