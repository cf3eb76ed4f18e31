//! The listening half of every tap: accepts connections, numbers them, and knows
//! when the last of them has ended on both sides.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Director, Gate};
use crate::ids::{Author, ConnectionId, DependencyName};

/// What every connection of one tap shares.
#[derive(Clone)]
pub struct TapContext {
    /// Whose calls come in here.
    pub author: Author,
    /// Whom they are meant for.
    pub dependency: DependencyName,
    /// Where the dependency really listens.
    pub upstream: SocketAddr,
    /// The address of this machine at which the author can reach it.
    pub near_side: IpAddr,
    /// Who decides.
    pub director: Arc<dyn Director>,
    /// The gate of the author's incarnation.
    pub gate: Arc<Gate>,
}

/// One accepted connection.
#[derive(Clone)]
pub struct ConnectionContext {
    /// What all connections of the tap share.
    pub tap: TapContext,
    /// This connection's number.
    pub id: ConnectionId,
    /// Cancelled when the tap is closed: the handler then acts as if the client had
    /// closed its side.
    pub closing: CancellationToken,
}

/// A listening tap.
pub struct Tap {
    address: SocketAddr,
    accepting: CancellationToken,
    closing: CancellationToken,
    connections: TaskTracker,
}

impl Tap {
    /// Listens on a free port of the near side and gives each connection to `handle`, which
    /// returns, with the reason, only when both the client's and the dependency's
    /// side of the connection have ended.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn open<H, F>(context: TapContext, handle: H) -> io::Result<Self>
    where
        H: Fn(TcpStream, ConnectionContext) -> F + Send + Sync + 'static,
        F: Future<Output = String> + Send + 'static,
    {
        let listener = TcpListener::bind((context.near_side, 0)).await?;
        let tap = Self {
            address: listener.local_addr()?,
            accepting: CancellationToken::new(),
            closing: CancellationToken::new(),
            connections: TaskTracker::new(),
        };
        let (accepting, closing) = (tap.accepting.clone(), tap.closing.clone());
        let connections = tap.connections.clone();
        tap.connections.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    biased;
                    () = accepting.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                // A client that is gone before it was accepted is no connection.
                let Ok((client, _)) = accepted else { continue };
                let _ = client.set_nodelay(true);
                let id = context
                    .director
                    .connected(&context.author, &context.dependency);
                let connection = ConnectionContext {
                    tap: context.clone(),
                    id,
                    closing: closing.clone(),
                };
                let director = Arc::clone(&context.director);
                let handling = handle(client, connection);
                connections.spawn(async move {
                    let reason = handling.await;
                    director.disconnected(id, &reason);
                });
            }
        });
        Ok(tap)
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting and waits until every connection has ended on both sides. For
    /// use after the death of the tap's author: its sides have ended already.
    pub async fn drain(&self) {
        self.accepting.cancel();
        self.connections.close();
        self.connections.wait().await;
    }

    /// Stops accepting, ends every connection as if its client had closed it, and
    /// waits until all have ended on both sides.
    pub async fn close(&self) {
        self.closing.cancel();
        self.drain().await;
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.accepting.cancel();
        self.closing.cancel();
    }
}
