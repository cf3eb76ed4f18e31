//! The gate of one incarnation: once closed, not one more byte of that incarnation
//! reaches any dependency.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

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

    /// Closes the gate at once: when this returns, no byte of a write under way passes any
    /// more.
    pub fn shut(&self) {
        self.closed.send_replace(true);
    }

    /// Closes the gate, cuts off every write under way and returns when none is left.
    pub async fn close(&self) {
        self.shut();
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
        let _active = Active::new(&self.active);
        let mut write = pin!(write);
        let mut closed = pin!(self.closed());
        let mut begun = false;
        poll_fn(|cx| {
            {
                // Whoever shuts the gate waits for this look to end, and for the bytes that
                // pass while it lasts: so none passes after.
                let shut = self.closed.borrow();
                if *shut {
                    let extent = if begun {
                        Extent::Partly
                    } else {
                        Extent::Nothing
                    };
                    return Poll::Ready(Ok(extent));
                }
                begun = true;
                if let Poll::Ready(written) = write.as_mut().poll(cx) {
                    return Poll::Ready(written.map(|()| Extent::Whole));
                }
            }
            closed.as_mut().poll(cx).map(|()| Ok(Extent::Partly))
        })
        .await
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinSet;

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

    /// Six connections that write as fast as they can, and how the server sees it: no byte
    /// passes once the gate is shut.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_byte_of_a_flood_passes_a_gate_that_is_shut() {
        const CONNECTIONS: usize = 6;
        for _ in 0..20 {
            let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = server.local_addr().unwrap();
            let gate = Arc::new(Gate::new());
            let passed = Arc::new(AtomicUsize::new(0));
            let (mut reading, mut writing) = (JoinSet::new(), JoinSet::new());
            for _ in 0..CONNECTIONS {
                let client = TcpStream::connect(address).await.unwrap();
                let (mut seen, _) = server.accept().await.unwrap();
                reading.spawn(async move {
                    let (mut all, mut bytes) = (0, [0; 4096]);
                    loop {
                        match seen.read(&mut bytes).await.unwrap() {
                            0 => return all,
                            count => all += count,
                        }
                    }
                });
                let (gate, passed) = (Arc::clone(&gate), Arc::clone(&passed));
                writing.spawn(async move {
                    let write = || async {
                        client.writable().await?;
                        match client.try_write(&[7; 100]) {
                            Ok(count) => passed.fetch_add(count, Ordering::SeqCst),
                            Err(_) => 0,
                        };
                        Ok(())
                    };
                    while gate.forward(write()).await.unwrap() == Extent::Whole {
                        tokio::task::yield_now().await;
                    }
                });
            }
            while passed.load(Ordering::SeqCst) < 10_000 {
                tokio::task::yield_now().await;
            }
            gate.shut();
            let at_the_trigger = passed.load(Ordering::SeqCst);
            writing.join_all().await;
            let seen: usize = reading.join_all().await.into_iter().sum();
            assert_eq!(seen, at_the_trigger);
        }
    }
}
