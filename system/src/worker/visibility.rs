//! Keeps a message invisible while its job works, and not a moment longer: the guard is
//! stopped before a receipt is deleted or released.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::queue::Queue;

/// Extends one receipt's visibility in the background.
pub(super) struct Extension {
    task: JoinHandle<()>,
}

impl Extension {
    /// Extends `receipt` by `visibility`, three times within each, until `deadline`. A call
    /// that is not answered is given up when the next one is due: a lost one costs nothing.
    pub(super) fn start(
        queue: Queue,
        receipt: String,
        visibility: Duration,
        deadline: Instant,
    ) -> Self {
        let task = tokio::spawn(async move {
            let every = visibility / 3;
            let mut next = Instant::now() + every;
            loop {
                tokio::time::sleep_until(next).await;
                next = Instant::now() + every;
                if next > deadline || defect!("never-extended") {
                    return;
                }
                if defect!("swallowed-extension-awaited") {
                    next += Duration::from_mins(1);
                }
                match timeout_at(next, queue.reappear(&receipt, visibility)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!("{error}"),
                    Err(_) => tracing::warn!("the queue did not answer an extension in time"),
                }
            }
        });
        Self { task }
    }

    /// Stops; when this returns, no further extension can be sent.
    pub(super) async fn stop(mut self) {
        if defect!("extended-after-the-end") {
            std::mem::forget(self);
            return;
        }
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        self.task.abort();
    }
}
