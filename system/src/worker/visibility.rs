//! Keeps a message invisible while its job works, and not a moment longer: the guard is
//! stopped before a receipt is deleted or released.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::queue::Queue;

/// Extends one receipt's visibility in the background.
pub(super) struct Extension {
    task: JoinHandle<()>,
}

impl Extension {
    /// Extends `receipt` by `visibility`, three times within each, until `deadline`.
    pub(super) fn start(
        queue: Queue,
        receipt: String,
        visibility: Duration,
        deadline: Instant,
    ) -> Self {
        let task = tokio::spawn(async move {
            let every = visibility / 3;
            loop {
                tokio::time::sleep(every).await;
                if Instant::now() + every > deadline {
                    return;
                }
                if let Err(error) = queue.reappear(&receipt, visibility).await {
                    tracing::warn!("{error}");
                }
            }
        });
        Self { task }
    }

    /// Stops; when this returns, no further extension can be sent.
    pub(super) async fn stop(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        self.task.abort();
    }
}
