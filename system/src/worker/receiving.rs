//! Takes messages while there is room, hands each to a task, drains at SIGTERM.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Worker, WorkerError};
use crate::queue::{Delivery, QueueError};
use crate::store::StoreError;
use crate::store::attempts::{AttemptKey, Received};

type Tasks = JoinSet<Result<(), StoreError>>;
type Taken = Result<Result<Vec<Delivery>, QueueError>, StoreError>;
type Receiving = Pin<Box<dyn Future<Output = Taken> + Send>>;

/// Receives until a stop is `requested`, then lets what is in hand finish.
pub(super) async fn run(
    worker: Arc<Worker>,
    requested: CancellationToken,
) -> Result<(), WorkerError> {
    let stop = CancellationToken::new();
    tokio::spawn({
        let (worker, stop) = (worker.clone(), stop.clone());
        async move {
            requested.cancelled().await;
            if !defect!("stop-recorded-at-the-end") {
                request_stop(&worker).await;
            }
            if defect!("receives-after-sigterm") {
                tokio::time::sleep(Duration::from_millis(1500)).await;
            }
            stop.cancel();
        }
    });
    let mut tasks = Tasks::new();
    receive(&worker, &stop, &mut tasks).await?;
    drain(&worker, &mut tasks).await?;
    if defect!("stop-recorded-at-the-end") {
        request_stop(&worker).await;
    }
    if defect!("leaves-with-an-error") {
        std::process::exit(1);
    }
    let ended = worker.store.incarnation_ended(worker.keeper.incarnation);
    if tokio::time::timeout(worker.settings.grace, ended)
        .await
        .is_err()
    {
        tracing::warn!("the database does not answer; the lease will end by itself");
    }
    Ok(())
}

/// The request is durable before anything else happens: a death from here on is charged
/// to no message.
async fn request_stop(worker: &Worker) {
    let incarnation = worker.keeper.incarnation;
    let recorded = worker
        .store
        .insist(|| worker.store.stop_requested(incarnation));
    match tokio::time::timeout(worker.settings.grace, recorded).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!("{}", crate::text(error)),
        Err(_) => tracing::warn!("the database does not answer; stopping without a record of it"),
    }
}

/// A receive is never given up while the process wants more: a message that it took from
/// the queue would be lost until its visibility ends. Only a stop gives it up.
async fn receive(
    worker: &Arc<Worker>,
    stop: &CancellationToken,
    tasks: &mut Tasks,
) -> Result<(), WorkerError> {
    let mut receiving: Option<Receiving> = None;
    loop {
        if receiving.is_none() {
            receiving = Some(start(worker.clone()));
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            Some(done) = tasks.join_next(), if !tasks.is_empty() => done??,
            batch = taken(&mut receiving), if receiving.is_some() => {
                receiving = None;
                match batch? {
                    Ok(batch) => begin(worker, batch, tasks).await?,
                    Err(error) => {
                        tracing::warn!("{error}");
                        tokio::select! {
                            () = stop.cancelled() => {}
                            () = tokio::time::sleep(worker.settings.sqs.pause) => {}
                        }
                    }
                }
            }
        }
    }
}

fn start(worker: Arc<Worker>) -> Receiving {
    Box::pin(async move {
        let room = worker.admitted().await?;
        let settings = &worker.settings;
        Ok(worker
            .queue
            .receive(
                room,
                settings.wait_time,
                if defect!("receive-hides-for-hours") {
                    Duration::from_hours(12)
                } else {
                    settings.visibility_timeout
                },
            )
            .await)
    })
}

async fn taken(receiving: &mut Option<Receiving>) -> Taken {
    match receiving {
        Some(receiving) => receiving.await,
        None => std::future::pending().await,
    }
}

/// Gives back what may no longer be taken: the fleet's state may have changed while the
/// receive waited.
async fn give_back(worker: &Worker, batch: &mut Vec<Delivery>) -> Result<(), StoreError> {
    let room = worker.room().await?;
    for surplus in batch.split_off(room.min(batch.len())) {
        if let Err(error) = worker
            .queue
            .reappear(&surplus.receipt, Duration::ZERO)
            .await
        {
            tracing::warn!("{error}");
        }
    }
    Ok(())
}

/// Records the whole batch before any of it is looked at.
async fn begin(
    worker: &Arc<Worker>,
    mut batch: Vec<Delivery>,
    tasks: &mut Tasks,
) -> Result<(), StoreError> {
    if batch.is_empty() {
        return Ok(());
    }
    if !defect!("late-receives-kept") {
        give_back(worker, &mut batch).await?;
    }
    if defect!("read-before-recorded") {
        for delivery in &batch {
            let message_id = &delivery.message_id;
            worker
                .checkpoint
                .reached("decoding", None, message_id)
                .await;
        }
    }
    let received: Vec<Received<'_>> = batch
        .iter()
        .map(|delivery| Received {
            delivery: Uuid::now_v7(),
            message_id: &delivery.message_id,
            receive_count: delivery.receive_count,
        })
        .collect();
    let incarnation = worker.keeper.incarnation;
    let numbers = worker
        .store
        .insist(|| worker.store.record_attempts(incarnation, &received))
        .await?;
    for (delivery, number) in batch.into_iter().zip(numbers) {
        let attempt = AttemptKey {
            message_id: delivery.message_id.clone(),
            number,
        };
        let in_hand = worker.take();
        let worker = worker.clone();
        tasks.spawn(async move {
            let _in_hand = in_hand;
            worker.handle(delivery, attempt).await
        });
    }
    Ok(())
}

/// Lets work in hand finish inside the grace, then gives back what has not asked the
/// outside service yet.
async fn drain(worker: &Worker, tasks: &mut Tasks) -> Result<(), WorkerError> {
    if defect!("work-in-hand-abandoned") {
        tasks.shutdown().await;
        return Ok(());
    }
    let finished = async {
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        Ok::<(), WorkerError>(())
    };
    if let Ok(outcome) = tokio::time::timeout(worker.settings.grace, finished).await {
        return outcome;
    }
    tracing::warn!("the grace is over; releasing what is in hand");
    worker.grace_over.cancel();
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}
