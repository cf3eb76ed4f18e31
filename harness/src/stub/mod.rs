//! The harness in the part of an outside HTTP service.
//!
//! A stub answers the routes of its dependency in the manifest and counts what it
//! *performed*, independently of every tap: whatever the taps report, this is what the
//! service did. A request is performed the moment it was read whole, before a byte of
//! the answer leaves.

mod contents;
mod keys;
mod performed;
mod routes;
mod store;
mod witnessed;

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::contents::{Content, Contents};
pub use self::performed::Performed;
use self::performed::Record;
use self::routes::Routes;
pub use self::routes::{PlayedRoute, UnplayableRoute};
pub(crate) use self::witnessed::Witnessed;
use crate::protocol::http::client::{Client, Incoming, Parting};
use crate::tap::{Discard, HttpRequest};

/// A running stub.
pub struct Stub {
    address: SocketAddr,
    service: Arc<Service>,
    accepting: CancellationToken,
    closing: CancellationToken,
    connections: TaskTracker,
}

struct Service {
    routes: Routes,
    record: Record,
}

impl Stub {
    /// Listens on a free loopback port and answers `routes`, the first that fits.
    /// `on_performed` is told of each request, also of those that fit no route, before
    /// it is answered.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(
        routes: Vec<PlayedRoute>,
        contents: Arc<dyn Contents>,
        on_performed: impl Fn(&Performed) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let service = Arc::new(Service {
            routes: Routes::new(routes, contents),
            record: Record::new(on_performed),
        });
        let stub = Self {
            address: listener.local_addr()?,
            service: Arc::clone(&service),
            accepting: CancellationToken::new(),
            closing: CancellationToken::new(),
            connections: TaskTracker::new(),
        };
        let (accepting, closing) = (stub.accepting.clone(), stub.closing.clone());
        let connections = stub.connections.clone();
        stub.connections.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    biased;
                    () = accepting.cancelled() => return,
                    accepted = listener.accept() => accepted,
                };
                let Ok((stream, peer)) = accepted else {
                    continue;
                };
                service.record.reached(peer.port());
                let _ = stream.set_nodelay(true);
                connections.spawn(serve(stream, closing.clone(), Arc::clone(&service)));
            }
        });
        Ok(stub)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many writes it performed in all.
    pub fn writes(&self) -> u64 {
        self.service.record.writes()
    }

    /// How many writes it performed for a job, by its id or by the message's name as
    /// the requests gave it.
    pub fn writes_for(&self, job_or_message: &str) -> u64 {
        self.service.record.writes_for(job_or_message)
    }

    /// Forgets the idempotency keys of writes for the jobs, or messages, that `meant` says;
    /// returns how many those are.
    pub fn forget_keys(&self, meant: impl Fn(&str) -> bool) -> usize {
        self.service.routes.forget_keys(meant)
    }

    /// The ports from which it was reached.
    pub fn callers(&self) -> BTreeSet<u16> {
        self.service.record.callers()
    }

    /// Stops listening, ends every connection, and returns when all are over.
    pub async fn stop(&self) {
        self.accepting.cancel();
        self.closing.cancel();
        self.connections.close();
        self.connections.wait().await;
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.accepting.cancel();
        self.closing.cancel();
    }
}

async fn serve(stream: TcpStream, closing: CancellationToken, service: Arc<Service>) {
    let mut client = Client::new(stream, closing);
    let parting = loop {
        let request = match client.request().await {
            Incoming::Request(request, _) => request,
            Incoming::Left => break Parting::Left,
            Incoming::Refused(malformed) => {
                client.refuse(&malformed).await;
                break Parting::Discard(Discard::Close);
            }
        };
        let recorded: HttpRequest = request.recorded();
        let outcome = service.routes.outcome(&recorded);
        service.record.performed(recorded, &outcome);
        let keeps_alive = request.keeps_alive();
        if !client.send(&outcome.response, &request, keeps_alive).await {
            break Parting::Left;
        }
        if !keeps_alive {
            break Parting::Discard(Discard::Close);
        }
    };
    client.part(parting).await;
}
