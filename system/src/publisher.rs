//! The publisher: sends what the outbox holds, and marks a row delivered only after the
//! queue accepted that row. A crash between the two sends again, which is harmless.

use std::time::Duration;

use crate::config;
use crate::queue::{Queue, Sent};
use crate::shutdown;
use crate::store::{Store, StoreError, outbox};

const LONGEST_BACKOFF: Duration = Duration::from_mins(1);

/// Why the publisher ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PublisherError {
    /// The signal handlers could not be installed.
    #[error("cannot listen for signals")]
    Signals(#[from] std::io::Error),
    /// The database refuses what only a person can mend.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs until SIGTERM.
pub(crate) async fn run(settings: config::Publisher) -> Result<(), PublisherError> {
    let stop = shutdown::requested()?;
    let connected = Store::wait_for(&settings.database, "publisher", 1);
    let Some(store) = stop.run_until_cancelled(connected).await.transpose()? else {
        return Ok(());
    };
    let queue = Queue::new(&settings.sqs, &settings.queue_url);
    while !stop.is_cancelled() {
        let idle = match publish(&store, &queue, &settings).await {
            Ok(sent) => sent == 0,
            Err(error) if error.passes() => {
                tracing::warn!("{}", crate::text(error));
                true
            }
            Err(error) => return Err(error.into()),
        };
        if idle {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(settings.poll_interval) => {}
            }
        }
    }
    if defect!("publisher-leaves-with-an-error") {
        std::process::exit(1);
    }
    Ok(())
}

/// Sends one batch; says how many rows it held.
async fn publish(
    store: &Store,
    queue: &Queue,
    settings: &config::Publisher,
) -> Result<usize, StoreError> {
    let Some((mut claim, entries)) = store.claim_unsent(settings.batch).await? else {
        return Ok(0);
    };
    let bodies: Vec<&str> = entries.iter().map(|entry| entry.body.as_str()).collect();
    if defect!("marked-before-sent") {
        for entry in &entries {
            claim.delivered(entry, "").await?;
        }
        claim.settle().await?;
        queue.send(&bodies).await;
        return Ok(entries.len());
    }
    if defect!("each-row-sent-twice") {
        queue.send(&bodies).await;
    }
    let mut outcomes = queue.send(&bodies).await;
    if defect!("batch-marked-as-a-whole")
        && outcomes
            .iter()
            .any(|sent| matches!(sent, Sent::Accepted(_)))
    {
        outcomes.fill(Sent::Accepted(String::new()));
    }
    for (entry, outcome) in entries.iter().zip(outcomes) {
        match outcome {
            Sent::Accepted(message_id) => claim.delivered(entry, &message_id).await?,
            Sent::Failed(why) if defect!("passing-failure-is-a-refusal") => {
                claim.refused(entry, &why).await?;
            }
            Sent::Refused(_) if defect!("refused-row-marked-delivered") => {
                claim.delivered(entry, "").await?;
            }
            Sent::Refused(why) => {
                tracing::warn!(
                    row = entry.id,
                    "refused {} of {} times: {why}",
                    entry.refusals + 1,
                    outbox::REFUSALS
                );
                claim.refused(entry, &why).await?;
            }
            Sent::Failed(why) => {
                tracing::warn!(row = entry.id, "not sent: {why}");
                let mut wait = backoff(settings.backoff, entry.failures);
                if defect!("no-pause-between-sends") {
                    wait = Duration::ZERO;
                }
                if defect!("failing-row-blocks-its-neighbours") {
                    tokio::time::sleep(wait).await;
                    return Ok(0);
                }
                claim.failed(entry.id, &why, wait).await?;
            }
        }
    }
    claim.settle().await?;
    Ok(entries.len())
}

/// Doubles with every failure, up to a minute.
fn backoff(first: Duration, failures: i32) -> Duration {
    let doublings = u32::try_from(failures).unwrap_or(0).min(16);
    first.saturating_mul(1 << doublings).min(LONGEST_BACKOFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_a_minute() {
        let first = Duration::from_millis(500);
        assert_eq!(backoff(first, 0), first);
        assert_eq!(backoff(first, 2), Duration::from_secs(2));
        assert_eq!(backoff(first, 60), LONGEST_BACKOFF);
    }
}
