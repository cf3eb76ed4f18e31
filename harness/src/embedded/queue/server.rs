//! The server: a listener, one task a connection, and a timekeeper.

use std::net::{Ipv4Addr, SocketAddr, TcpStream as ProbeStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::broker::Broker;
use super::callers::Callers;
use super::error::QueueError;
use super::http;
use super::journal::{Journal, JournalError};
use super::moment::Moment;
use super::state::{State, Terms};

/// How a queue server is started.
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// Where it listens; port 0 takes a free one. Loopback only, see
    /// [`QueueOptions::in_container`].
    pub listen: SocketAddr,
    /// Whether it may listen elsewhere, because only the harness reaches it there.
    pub in_container: bool,
    /// The directory of its journal. Absent: nothing survives the server.
    pub data: Option<PathBuf>,
    /// The account in URLs and ARNs, twelve digits.
    pub account: String,
    /// The region in ARNs.
    pub region: String,
    /// Whether an old handle deletes a message that was delivered again since.
    /// The API reference says that it succeeds and may not delete; so it does not.
    pub stale_handle_deletes: bool,
    /// Whether a queue's name can be used again within 60 s of its deletion.
    pub recreate_at_once: bool,
    /// How many messages of one queue may be in flight.
    pub in_flight_limit: usize,
    /// How many entries the delivery log keeps.
    pub log_bound: usize,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            in_container: false,
            data: None,
            account: "000000000000".to_owned(),
            region: "us-east-1".to_owned(),
            stale_handle_deletes: false,
            recreate_at_once: false,
            in_flight_limit: 120_000,
            log_bound: 10_000,
        }
    }
}

/// A running queue server. Dropping it ends it at once; [`QueueServer::stop`]
/// also waits until all its connections are closed.
#[derive(Debug)]
pub struct QueueServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// What every connection shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) broker: Arc<Broker>,
    pub(crate) terms: Terms,
    pub(crate) address: SocketAddr,
    pub(crate) callers: Callers,
}

impl QueueServer {
    /// Starts a server on the current Tokio runtime. It answers when this
    /// returns.
    ///
    /// # Errors
    /// The address is taken or not on loopback, the account is no account, or the
    /// journal is in use, unreadable or damaged.
    pub async fn start(options: QueueOptions) -> Result<Self, QueueError> {
        if !options.in_container && !options.listen.ip().is_loopback() {
            return Err(QueueError::NotLoopback {
                address: options.listen,
            });
        }
        if options.account.len() != 12 || !options.account.bytes().all(|b| b.is_ascii_digit()) {
            return Err(QueueError::Account(options.account));
        }
        let terms = Terms {
            account: options.account,
            region: options.region,
            stale_handle_deletes: options.stale_handle_deletes,
            recreate_at_once: options.recreate_at_once,
            in_flight_limit: options.in_flight_limit,
            log_bound: options.log_bound,
        };
        let cannot_listen = |reason| QueueError::Listen {
            address: options.listen,
            reason,
        };
        let listener = TcpListener::bind(options.listen)
            .await
            .map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        let mut callers = Callers::default();
        let (state, journal, last) = match options.data {
            None => (State::new(terms.clone()), None, Moment::default()),
            Some(directory) => {
                let opened = open(directory.clone(), terms.clone())?;
                callers = Callers::kept(&directory)
                    .map_err(|reason| QueueError::Journal { directory, reason })?;
                opened
            }
        };
        let shared = Arc::new(Shared {
            broker: Arc::new(Broker::new(state, journal, last)),
            terms,
            address,
            callers,
        });
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, shared, stopped));
        Ok(Self {
            address,
            stop: Some(stop),
            task,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint for SDKs.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes every connection, ends every long poll, and frees the port.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let _ = (&mut self.task).await;
    }
}

impl Drop for QueueServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn open(directory: PathBuf, terms: Terms) -> Result<(State, Option<Journal>, Moment), QueueError> {
    match Journal::open(&directory, terms) {
        Ok((journal, state, last)) => Ok((state, Some(journal), last)),
        Err(JournalError::InUse) => Err(QueueError::InUse { directory }),
        Err(JournalError::Io(reason)) => Err(QueueError::Journal { directory, reason }),
        Err(damaged @ JournalError::Damaged { .. }) => Err(QueueError::Damaged {
            directory,
            reason: damaged.to_string(),
        }),
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&shared.broker).keep_time());
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            Some(_) = tasks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    tasks.spawn(connection(stream, Arc::clone(&shared)));
                }
                // Out of file descriptors, most likely: nothing tells when one is free.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
    drop(listener);
    tasks.shutdown().await;
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let Ok((stream, probe)) = with_probe(stream) else {
        return;
    };
    let probe = Arc::new(probe);
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        let probe = Arc::clone(&probe);
        async move { http::answer(&shared, &probe, request).await }
    });
    // Without half-close, the end of the client's stream ends a pending long poll
    // and the connection, which is what the harness waits for at a death.
    let _ = http1::Builder::new()
        .half_close(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// A second handle on a connection, to see whether its client is still there.
#[derive(Debug)]
pub(crate) struct Probe {
    client: ProbeStream,
    /// The client's.
    pub(crate) port: u16,
}

fn with_probe(stream: TcpStream) -> std::io::Result<(TcpStream, Probe)> {
    stream.set_nodelay(true)?;
    let port = stream.peer_addr()?.port();
    let stream = stream.into_std()?;
    let client = stream.try_clone()?;
    let probe = Probe { client, port };
    Ok((TcpStream::from_std(stream)?, probe))
}

impl Probe {
    /// False once the client closed its side or reset the connection, also when
    /// the runtime has not noticed yet.
    pub(crate) fn is_client_there(&self) -> bool {
        match self.client.peek(&mut [0]) {
            Ok(read) => read > 0,
            Err(error) => matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
            ),
        }
    }
}
