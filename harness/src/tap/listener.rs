//! The listening half of every tap: accepts connections, numbers them, and knows
//! when the last of them has ended on both sides.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::line::Line;
use super::retreat::retreat;
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

impl TapContext {
    /// Connects to the dependency. Whoever waits for it may be gone before: the dependency
    /// may have seen a connection all the same, so it is told in any case whose that was.
    pub(crate) fn connect(&self) -> impl Future<Output = io::Result<TcpStream>> + use<> {
        let (upstream, dependency) = (self.upstream, self.dependency.clone());
        let director = Arc::clone(&self.director);
        let connecting = tokio::spawn(async move {
            let stream = TcpStream::connect(upstream).await?;
            director.reached(&dependency, stream.local_addr()?);
            stream.set_nodelay(true)?;
            Ok(stream)
        });
        async {
            connecting
                .await
                .unwrap_or_else(|ended| Err(io::Error::other(ended)))
        }
    }
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
    /// Cancelled, ahead of `closing`, when this connection is to end in a reset.
    pub cut: CancellationToken,
}

/// A listening tap.
pub struct Tap {
    address: SocketAddr,
    accepting: CancellationToken,
    closing: CancellationToken,
    connections: TaskTracker,
    line: Line,
}

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

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
            line: Line::default(),
        };
        let serving = Serving {
            context,
            handle,
            line: tap.line.clone(),
            closing: tap.closing.clone(),
            connections: tap.connections.clone(),
        };
        let accepting = tap.accepting.clone();
        let address = tap.address;
        tap.connections.spawn(async move {
            tokio::select! {
                biased;
                () = accepting.cancelled() => {}
                () = serving.run(listener, address) => {}
            }
        });
        Ok(tap)
    }

    /// The line between the tap and its clients.
    pub fn line(&self) -> Line {
        self.line.clone()
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting and waits until every connection has ended on both sides. For
    /// use after the death of the tap's author: its sides have ended already.
    pub async fn drain(&self) {
        self.accepting.cancel();
        self.line.end();
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
        self.line.end();
        self.closing.cancel();
    }
}

/// What the accepting half of a tap works with.
struct Serving<H> {
    context: TapContext,
    handle: H,
    line: Line,
    closing: CancellationToken,
    connections: TaskTracker,
}

impl<H, F> Serving<H>
where
    H: Fn(TcpStream, ConnectionContext) -> F,
    F: Future<Output = String> + Send + 'static,
{
    async fn run(self, mut listener: TcpListener, address: SocketAddr) {
        loop {
            tokio::select! {
                biased;
                () = self.line.wanted(true) => {
                    let Some(again) = self.refuse(listener, address).await else { return };
                    listener = again;
                }
                // A client that is gone before it was accepted is no connection.
                accepted = listener.accept() => if let Ok((client, _)) = accepted {
                    self.take(client);
                }
            }
        }
    }

    /// Refuses connections for as long as that is wanted. The port stays bound, so that
    /// nobody else gets it.
    async fn refuse(&self, listener: TcpListener, address: SocketAddr) -> Option<TcpListener> {
        retreat(listener.into_std().ok()?, |client| self.take(client)).await;
        let bound = loop {
            if let Ok(bound) = bind(address) {
                break bound;
            }
            tokio::task::yield_now().await;
        };
        self.line.is(true);
        self.line.wanted(false).await;
        let listener = bound.listen(BACKLOG).ok()?;
        self.line.is(false);
        Some(listener)
    }

    fn take(&self, client: TcpStream) {
        let _ = client.set_nodelay(true);
        let context = &self.context;
        let id = context
            .director
            .connected(&context.author, &context.dependency);
        let connection = ConnectionContext {
            tap: context.clone(),
            id,
            closing: self.closing.child_token(),
            cut: CancellationToken::new(),
        };
        let on_line = self
            .line
            .join(id, connection.closing.clone(), connection.cut.clone());
        let director = Arc::clone(&context.director);
        let handling = (self.handle)(client, connection);
        self.connections.spawn(async move {
            let reason = handling.await;
            drop(on_line);
            director.disconnected(id, &reason);
        });
    }
}

/// Takes a port without listening on it.
fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::ids::CallId;
    use crate::tap::{After, Before, Call, Extent, Reply, Side};

    /// Decides nothing.
    struct Nobody;

    impl Director for Nobody {
        fn next_call(&self) -> CallId {
            CallId(1)
        }
        fn connected(&self, _: &Author, _: &DependencyName) -> ConnectionId {
            ConnectionId(1)
        }
        fn disconnected(&self, _: ConnectionId, _: &str) {}
        fn before(&self, _: Arc<Call>) -> BoxFuture<'static, Before> {
            Box::pin(async { Before::Forward })
        }
        fn forwarded(&self, _: &Call, _: Extent) {}
        fn after(&self, _: Arc<Call>, _: Arc<Reply>, _: bool) -> BoxFuture<'static, After> {
            Box::pin(async { After::Deliver })
        }
        fn abandoned(&self, _: &Call, _: Side) {}
    }

    /// A tap whose connections say `a` and stay open.
    async fn tap() -> Tap {
        let context = TapContext {
            author: Author::Client,
            dependency: "outside".into(),
            upstream: (std::net::Ipv4Addr::LOCALHOST, 1).into(),
            near_side: std::net::Ipv4Addr::LOCALHOST.into(),
            director: Arc::new(Nobody),
            gate: Arc::default(),
        };
        Tap::open(
            context,
            |mut client, connection: ConnectionContext| async move {
                let _ = client.write_all(b"a").await;
                connection.closing.cancelled().await;
                if connection.cut.is_cancelled() {
                    let _ = client.set_zero_linger();
                }
                "over".to_owned()
            },
        )
        .await
        .unwrap()
    }

    #[tokio::test]
    async fn a_refused_line_refuses_keeps_what_there_is_and_accepts_again_at_the_same_port() {
        let tap = tap().await;
        let mut before = TcpStream::connect(tap.address()).await.unwrap();
        for _ in 0..20 {
            tap.line().refuse().await;
            let refused = TcpStream::connect(tap.address()).await.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
            tap.line().accept().await;
            let mut after = TcpStream::connect(tap.address()).await.unwrap();
            assert_eq!(after.read_u8().await.unwrap(), b'a');
        }
        assert_eq!(before.read_u8().await.unwrap(), b'a');
        tap.close().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn whoever_connects_while_refusing_begins_is_served_or_refused_and_never_reset() {
        let tap = tap().await;
        let address = tap.address();
        for _ in 0..5 {
            let clients: Vec<_> = (0..50)
                .map(|_| {
                    tokio::spawn(async move {
                        let mut client = TcpStream::connect(address).await?;
                        client.read_u8().await
                    })
                })
                .collect();
            tap.line().refuse().await;
            for client in clients {
                match client.await.unwrap() {
                    Ok(byte) => assert_eq!(byte, b'a'),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused),
                }
            }
            tap.line().accept().await;
        }
        tap.close().await;
    }

    #[tokio::test]
    async fn a_cut_resets_connections_and_lets_new_ones_in() {
        let tap = tap().await;
        let mut client = TcpStream::connect(tap.address()).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'a');
        tap.line().cut();
        let reset = client.read_u8().await.unwrap_err();
        assert_eq!(reset.kind(), io::ErrorKind::ConnectionReset);
        let mut after = TcpStream::connect(tap.address()).await.unwrap();
        assert_eq!(after.read_u8().await.unwrap(), b'a');
        tap.close().await;
    }
}
