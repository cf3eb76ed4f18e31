//! SIGTERM and SIGINT. Handlers are installed, so that the process obeys them also as
//! the first process of a container, where signals without a handler are ignored.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Is cancelled at the first request to stop.
///
/// # Errors
/// When the handlers cannot be installed; call it before any work is taken.
pub(crate) fn requested() -> std::io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    tokio::spawn({
        let stop = stop.clone();
        async move {
            tokio::select! {
                _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
                _ = interrupt.recv() => tracing::info!("SIGINT: stopping"),
            }
            stop.cancel();
        }
    });
    Ok(stop)
}
