//! The gate of one incarnation: once closed, not one more byte of that incarnation
//! reaches any dependency.

use std::future::Future;
use std::io;

use tokio::sync::watch;

/// How much of a call the dependency got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Every byte.
    Whole,
    /// Some bytes, perhaps all of them: the write was under way when the gate closed
    /// or the connection broke.
    Partly,
    /// Not one byte.
    Nothing,
}

/// Shared by all taps of one incarnation. A killed process's bytes still arrive from
/// its socket buffers; closing the gate *before* the signal makes sure that they go
/// nowhere.
#[derive(Debug)]
pub struct Gate {
    closed: watch::Sender<bool>,
    /// Forwarding writes under way.
    active: watch::Sender<usize>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            closed: watch::Sender::new(false),
            active: watch::Sender::new(0),
        }
    }
}

impl Gate {
    /// An open gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Closes the gate, cuts off every write under way and returns when none is left.
    pub async fn close(&self) {
        self.closed.send_replace(true);
        let mut active = self.active.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = active.wait_for(|count| *count == 0).await;
    }

    /// Resolves once the gate is closed.
    pub async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        let _ = closed.wait_for(|closed| *closed).await;
    }

    /// Runs a write toward the dependency unless the gate is closed.
    ///
    /// # Errors
    /// The write's own error; how much arrived is then unknown
    /// ([`Extent::Partly`] is the safe reading).
    pub async fn forward<F>(&self, write: F) -> io::Result<Extent>
    where
        F: Future<Output = io::Result<()>>,
    {
        // Counted before the look at `closed`: `close` sets the flag first and counts
        // after, so one of the two always sees the other.
        let _active = Active::new(&self.active);
        if self.is_closed() {
            return Ok(Extent::Nothing);
        }
        tokio::select! {
            biased;
            written = write => written.map(|()| Extent::Whole),
            () = self.closed() => Ok(Extent::Partly),
        }
    }
}

struct Active<'a>(&'a watch::Sender<usize>);

impl<'a> Active<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_closed_gate_forwards_nothing() {
        let gate = Gate::new();
        gate.close().await;
        let extent = gate
            .forward(async { panic!("must not be polled") })
            .await
            .unwrap();
        assert_eq!(extent, Extent::Nothing);
    }

    #[tokio::test]
    async fn closing_cuts_a_stuck_write_off() {
        let gate = Arc::new(Gate::new());
        let writing = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.forward(std::future::pending()).await.unwrap() }
        });
        tokio::task::yield_now().await;
        gate.close().await;
        assert_eq!(writing.await.unwrap(), Extent::Partly);
    }

    #[tokio::test]
    async fn an_open_gate_forwards_whole() {
        assert_eq!(
            Gate::new().forward(async { Ok(()) }).await.unwrap(),
            Extent::Whole
        );
    }
}
