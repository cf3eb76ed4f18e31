//! The worker: records every receive before anything else happens, works, commits,
//! deletes.
//!
//! ```text
//! receive ─► record ─► decode ─► decide ─┬─► start ─► read ─► extract ─► outside write ─► commit ─► delete
//!                                        ├─► duplicate ─► delete
//!                                        ├─► owner alive ─► leave alone
//!                                        └─► hand over ─► quarantine ─► delete
//! ```
//!
//! `admission` says how many may be taken, `receiving` takes messages and gives them to tasks, `handling` carries one message
//! through the picture above, `working` is the line at its top.

mod admission;
mod handling;
mod receiving;
mod visibility;
mod working;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::checkpoint::Checkpoint;
use crate::documents::DocumentStore;
use crate::outside::Outside;
use crate::probe::Probes;
use crate::queue::Queue;
use crate::session::Keeper;
use crate::store::incarnations::Session;
use crate::store::{Store, StoreError};
use crate::{config, shutdown};

use admission::Hands;

/// Why a worker ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// The signal handlers could not be installed.
    #[error("cannot listen for signals")]
    Signals(#[from] std::io::Error),
    /// A setting makes no sense.
    #[error("a setting makes no sense: {0}")]
    Setting(String),
    /// The database refuses what only a person can mend.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The handling of a message panicked.
    #[error("the handling of a message panicked")]
    Panicked(#[from] tokio::task::JoinError),
}

/// All that handling a message needs.
struct Worker {
    settings: config::Worker,
    store: Store,
    queue: Queue,
    documents: DocumentStore,
    outside: Outside,
    checkpoint: Checkpoint,
    probes: Probes,
    keeper: Keeper,
    hands: Hands,
    /// Cancelled at the end of the grace: what can be given back is given back.
    grace_over: CancellationToken,
}

/// Runs until SIGTERM.
pub(crate) async fn run(settings: config::Worker) -> Result<(), WorkerError> {
    let stop = shutdown::requested()?;
    let documents = DocumentStore::new(&settings.document_store_url, settings.document_timeout)
        .map_err(WorkerError::Setting)?;
    let outside = Outside::new(
        &settings.outside_url,
        settings.outside_timeout,
        &settings.outside_not_performed,
        &settings.outside_idempotency_header,
    )
    .map_err(WorkerError::Setting)?;
    let probes = Probes::new(
        &settings.document_store_url,
        &settings.outside_url,
        &settings.probe_path,
        settings.probe_timeout,
    )
    .map_err(WorkerError::Setting)?;
    let checkpoint =
        Checkpoint::from_environment().map_err(|error| WorkerError::Setting(crate::text(error)))?;
    let Some((store, session)) = stop
        .run_until_cancelled(begin(&settings))
        .await
        .transpose()?
    else {
        return Ok(());
    };
    let keeper = Keeper::start(session, settings.lease);
    let queue = Queue::new(&settings.sqs, &settings.queue_url);
    tokio::spawn(preflight(
        queue.clone(),
        settings.attempt_limit,
        settings.expected_setbacks,
    ));
    tracing::info!(incarnation = %keeper.incarnation, "receiving");
    let worker = Arc::new(Worker {
        queue,
        store,
        documents,
        outside,
        checkpoint,
        probes,
        keeper,
        hands: Hands::default(),
        grace_over: CancellationToken::new(),
        settings,
    });
    receiving::run(worker, stop).await
}

/// The database and an incarnation of this process in it, as soon as it lets us.
async fn begin(settings: &config::Worker) -> Result<(Store, Session), StoreError> {
    let connections = settings.concurrency.saturating_add(1);
    if defect!("start-needs-a-well-database") {
        let store = Store::connect(&settings.database, "worker", connections).await?;
        let session = store.open_session(settings.lease, settings.trial_length);
        return Ok((store.clone(), session.await?));
    }
    let store = Store::wait_for(&settings.database, "worker", connections).await?;
    if defect!("restart-ends-the-trial") {
        store.forget("trial_left").await?;
    }
    if defect!("restart-ends-the-pause") {
        store.forget("paused_reason").await?;
    }
    if defect!("restart-forgets-the-stop") {
        store.forget("stopped_reason").await?;
    }
    let session = store
        .insist(|| store.open_session(settings.lease, settings.trial_length))
        .await?;
    Ok((store, session))
}

/// Warns of a redrive policy that gives messages up before the attempt limit does:
/// receives are counted there, and not every receive is a failure.
async fn preflight(queue: Queue, limit: u32, setbacks: u32) {
    let needed = if defect!("warning-forgets-the-hand-over") {
        limit.saturating_add(setbacks)
    } else {
        limit.saturating_add(1).saturating_add(setbacks)
    };
    if defect!("no-warning-of-too-few-receives") {
        return;
    }
    match queue.most_receives().await {
        Ok(Some(allowed)) if allowed < needed => tracing::warn!(
            "maxReceiveCount is {allowed}, but {limit} attempts, their hand-over and {setbacks} \
             setbacks need {needed}: messages may reach the dead-letter queue although nothing failed"
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!("{error}"),
    }
}
