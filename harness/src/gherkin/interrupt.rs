//! Ctrl-C, SIGTERM and SIGHUP, as a value that everything which waits can also wait for.

use std::io;

use nix::sys::signal::Signal::SIGHUP;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::deployment::procfs;

/// Whether a run should end, and how urgently.
#[derive(Clone, Debug)]
pub struct Interrupt {
    level: watch::Sender<u8>,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self::new()
    }
}

impl Interrupt {
    /// Nobody has interrupted yet.
    pub fn new() -> Self {
        Self {
            level: watch::Sender::new(0),
        }
    }

    /// Interrupts, or does so more urgently: first running steps end and worlds are
    /// closed in order, then nothing is waited for any more.
    pub fn raise(&self) {
        self.level
            .send_modify(|level| *level = level.saturating_add(1));
    }

    /// Whether the run should end.
    pub fn is_raised(&self) -> bool {
        *self.level.borrow() >= 1
    }

    /// Whether it should end without waiting for anything.
    pub fn is_urgent(&self) -> bool {
        *self.level.borrow() >= 2
    }

    /// Waits until the run should end.
    pub async fn raised(&self) {
        self.reached(1).await;
    }

    /// Waits until it should end without waiting for anything.
    pub async fn urgent(&self) {
        self.reached(2).await;
    }

    async fn reached(&self, wanted: u8) {
        let mut level = self.level.subscribe();
        // The sender lives as long as `self`.
        let _ = level.wait_for(|level| *level >= wanted).await;
    }

    /// Raises this interrupt at each SIGINT, SIGTERM and SIGHUP (unless that is ignored, as
    /// under `nohup`) from now on, for as long as the process lives. Must be called once.
    ///
    /// # Errors
    /// If the signals cannot be listened to.
    pub fn listen(&self) -> io::Result<()> {
        let interrupt = self.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (mut ctrl_c, mut terminate, mut hangup) = {
            let _within = runtime.enter();
            let hangup = if procfs::was_told_to_ignore(SIGHUP) {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            };
            (
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                hangup,
            )
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    loop {
                        tokio::select! {
                            _ = ctrl_c.recv() => {}
                            _ = terminate.recv() => {}
                            () = hung_up(&mut hangup) => {}
                        }
                        interrupt.raise();
                    }
                });
            })?;
        Ok(())
    }
}

async fn hung_up(hangup: &mut Option<Signal>) {
    match hangup {
        Some(hangup) => {
            hangup.recv().await;
        }
        None => std::future::pending().await,
    }
}
