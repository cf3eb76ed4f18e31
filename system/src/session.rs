//! Keeps the incarnation's lock and lease for as long as the process runs.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::store::incarnations::{Beat, Session};

/// Between two tries to report back.
const RETRY: Duration = Duration::from_millis(200);

/// The task that gives signs of life, and a way to ask it for one now.
#[derive(Clone)]
pub(crate) struct Keeper {
    pub(crate) incarnation: Uuid,
    wanted: mpsc::Sender<oneshot::Sender<()>>,
}

impl Keeper {
    /// Starts to keep `session`, with three signs of life in a lease.
    pub(crate) fn start(session: Session, lease: Duration) -> Self {
        let incarnation = session.incarnation;
        let (wanted, requests) = mpsc::channel(16);
        tokio::spawn(keep(session, lease / 3, requests));
        Self {
            incarnation,
            wanted,
        }
    }

    /// Completes once the lock is held and the lease renewed.
    pub(crate) async fn report_back(&self) {
        let (done, renewed) = oneshot::channel();
        if self.wanted.send(done).await.is_ok() {
            let _ = renewed.await;
        }
    }
}

async fn keep(
    mut session: Session,
    every: Duration,
    mut requests: mpsc::Receiver<oneshot::Sender<()>>,
) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let request = tokio::select! {
            _ = ticks.tick() => None,
            request = requests.recv() => match request {
                Some(request) => Some(request),
                None => return,
            },
        };
        renew(&mut session).await;
        if let Some(request) = request {
            let _ = request.send(());
        }
    }
}

async fn renew(session: &mut Session) {
    let mut outcome = session.beat().await;
    loop {
        match outcome {
            Ok(Beat::Held) => return,
            Ok(Beat::Reversed) => {
                tracing::warn!("was judged dead while alive; what was charged is taken back");
                return;
            }
            Err(error) => tracing::warn!("{}; reporting back", crate::text(error)),
        }
        outcome = session.reconnect().await;
        if outcome.is_err() {
            tokio::time::sleep(RETRY).await;
        }
    }
}
