//! A director that remembers all it was told and decides as a test wants, a client and
//! a dependency made of plain sockets.
#![allow(dead_code, reason = "each test binary uses its own share of this")]

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use rehearsal::ids::{Author, CallId, ConnectionId, DependencyName, Incarnation};
use rehearsal::tap::{
    After, Before, Call, Director, Extent, Gate, HttpRequest, Reply, Request, Side, TapContext,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// How long a test waits for what must come before it counts as hanging.
const HANG: Duration = Duration::from_secs(30);

pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(HANG, future)
        .await
        .expect("this must not hang")
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Connected(ConnectionId),
    Disconnected(ConnectionId, String),
    Before(Arc<Call>),
    Forwarded(CallId, Extent),
    After(CallId, Arc<Reply>, bool),
    Abandoned(CallId, Side),
    /// It was asked whether a call is late, and it is.
    Late,
    /// How many bytes passed, their SHA-256, and whether that was all.
    Streamed(Side, u64, Vec<u8>, bool),
    Misannounced(String),
}

impl Event {
    /// The event in a word, for comparing orders.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::Connected(_) => "connected".to_owned(),
            Self::Misannounced(_) => "misannounced".to_owned(),
            Self::Disconnected(..) => "disconnected".to_owned(),
            Self::Before(_) => "before".to_owned(),
            Self::Forwarded(_, extent) => format!("forwarded {extent:?}"),
            Self::After(_, reply, deliverable) => {
                let what = if matches!(**reply, Reply::Broken { .. }) {
                    "broken"
                } else {
                    "after"
                };
                if *deliverable {
                    what.to_owned()
                } else {
                    format!("{what} for nobody")
                }
            }
            Self::Abandoned(_, side) => format!("abandoned {side:?}"),
            Self::Late => "late".to_owned(),
            Self::Streamed(side, _, _, true) => format!("streamed {side:?}"),
            Self::Streamed(side, _, _, false) => format!("broken off {side:?}"),
        }
    }
}

enum Plan<T> {
    Do(T),
    Hold(oneshot::Receiver<T>),
}

impl<T: Send + 'static> Plan<T> {
    fn run(plan: Option<Self>, usual: T) -> BoxFuture<'static, T> {
        Box::pin(async move {
            match plan {
                None => usual,
                Some(Self::Do(decision)) => decision,
                Some(Self::Hold(decision)) => decision.await.unwrap_or(usual),
            }
        })
    }
}

pub(crate) struct Witness {
    events: watch::Sender<Vec<Event>>,
    befores: Mutex<VecDeque<Plan<Before>>>,
    afters: Mutex<VecDeque<Plan<After>>>,
    reads_no_bodies: AtomicBool,
    late: AtomicBool,
}

impl Witness {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            events: watch::Sender::default(),
            befores: Mutex::default(),
            afters: Mutex::default(),
            reads_no_bodies: AtomicBool::new(false),
            late: AtomicBool::new(false),
        })
    }

    /// Nothing that is looked for stands in bodies.
    pub(crate) fn read_no_bodies(&self) {
        self.reads_no_bodies.store(true, Ordering::Relaxed);
    }

    /// What is held is merely late.
    pub(crate) fn be_late(&self) {
        self.late.store(true, Ordering::Relaxed);
    }

    pub(crate) fn streams(&self) -> Vec<(Side, u64, Vec<u8>, bool)> {
        let stream = |event| match event {
            Event::Streamed(side, len, sha256, whole) => Some((side, len, sha256, whole)),
            _ => None,
        };
        self.events().into_iter().filter_map(stream).collect()
    }

    pub(crate) fn decide_before(&self, decision: Before) {
        self.befores.lock().unwrap().push_back(Plan::Do(decision));
    }

    pub(crate) fn decide_after(&self, decision: After) {
        self.afters.lock().unwrap().push_back(Plan::Do(decision));
    }

    pub(crate) fn hold_before(&self) -> oneshot::Sender<Before> {
        let (release, held) = oneshot::channel();
        self.befores.lock().unwrap().push_back(Plan::Hold(held));
        release
    }

    pub(crate) fn hold_after(&self) -> oneshot::Sender<After> {
        let (release, held) = oneshot::channel();
        self.afters.lock().unwrap().push_back(Plan::Hold(held));
        release
    }

    fn tell(&self, event: Event) {
        self.events.send_modify(|events| events.push(event));
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.borrow().clone()
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.events().iter().map(Event::word).collect()
    }

    /// Waits until something was told, named by [`Event::word`].
    pub(crate) async fn told(&self, word: &str) {
        self.told_times(word, 1).await;
    }

    pub(crate) async fn told_times(&self, word: &str, times: usize) {
        let mut events = self.events.subscribe();
        let enough = events
            .wait_for(|events| events.iter().filter(|event| event.word() == word).count() >= times);
        let told = tokio::time::timeout(HANG, enough).await.is_ok();
        assert!(
            told,
            "`{word}` was never told {times} times; told: {:?}",
            self.words()
        );
    }

    pub(crate) fn calls(&self) -> Vec<Arc<Call>> {
        let call = |event| match event {
            Event::Before(call) => Some(call),
            _ => None,
        };
        self.events().into_iter().filter_map(call).collect()
    }

    pub(crate) fn requests(&self) -> Vec<HttpRequest> {
        let request = |call: &Arc<Call>| match &call.request {
            Request::Http(request) => request.clone(),
            other => panic!("no HTTP: {other:?}"),
        };
        self.calls().iter().map(request).collect()
    }

    pub(crate) fn replies(&self) -> Vec<Arc<Reply>> {
        let reply = |event| match event {
            Event::After(_, reply, _) => Some(reply),
            _ => None,
        };
        self.events().into_iter().filter_map(reply).collect()
    }

    pub(crate) fn misannounced(&self) -> Vec<String> {
        let reason = |event| match event {
            Event::Misannounced(reason) => Some(reason),
            _ => None,
        };
        self.events().into_iter().filter_map(reason).collect()
    }

    pub(crate) fn reasons(&self) -> Vec<String> {
        let reason = |event| match event {
            Event::Disconnected(_, reason) => Some(reason),
            _ => None,
        };
        self.events().into_iter().filter_map(reason).collect()
    }
}

impl Director for Witness {
    fn next_call(&self) -> CallId {
        CallId(self.calls().len() as u64 + 1)
    }

    fn connected(&self, _: &Author, _: &DependencyName) -> ConnectionId {
        let count = self
            .words()
            .iter()
            .filter(|word| *word == "connected")
            .count();
        let id = ConnectionId(count as u64 + 1);
        self.tell(Event::Connected(id));
        id
    }

    fn disconnected(&self, connection: ConnectionId, reason: &str) {
        self.tell(Event::Disconnected(connection, reason.to_owned()));
    }

    fn before(&self, call: Arc<Call>) -> BoxFuture<'static, Before> {
        self.tell(Event::Before(call));
        Plan::run(self.befores.lock().unwrap().pop_front(), Before::Forward)
    }

    fn forwarded(&self, call: &Call, extent: Extent) {
        self.tell(Event::Forwarded(call.id, extent));
    }

    fn after(
        &self,
        call: Arc<Call>,
        reply: Arc<Reply>,
        deliverable: bool,
    ) -> BoxFuture<'static, After> {
        self.tell(Event::After(call.id, reply, deliverable));
        Plan::run(self.afters.lock().unwrap().pop_front(), After::Deliver)
    }

    fn reads_bodies(&self, _: &DependencyName) -> bool {
        !self.reads_no_bodies.load(Ordering::Relaxed)
    }

    fn streamed(&self, _: &Call, side: Side, len: u64, sha256: &[u8], whole: bool) {
        self.tell(Event::Streamed(side, len, sha256.to_vec(), whole));
    }

    fn misannounced(&self, _: &Author, reason: &str) {
        self.tell(Event::Misannounced(reason.to_owned()));
    }

    fn is_late(&self, _: &Call) -> bool {
        let late = self.late.load(Ordering::Relaxed);
        if late {
            self.tell(Event::Late);
        }
        late
    }

    fn abandoned(&self, call: &Call, side: Side) {
        self.tell(Event::Abandoned(call.id, side));
    }
}

pub(crate) fn author() -> Author {
    Author::Process(Incarnation {
        role: "worker".into(),
        instance: 1,
        start: 1,
    })
}

pub(crate) fn context(upstream: SocketAddr, director: &Arc<Witness>) -> TapContext {
    let director: Arc<dyn Director> = director.clone();
    TapContext {
        author: author(),
        dependency: "service".into(),
        upstream,
        near_side: std::net::Ipv4Addr::LOCALHOST.into(),
        director,
        gate: Arc::new(Gate::new()),
    }
}

/// A dependency that a test plays by hand.
pub(crate) struct Dependency {
    listener: TcpListener,
}

impl Dependency {
    pub(crate) async fn start() -> Self {
        Self {
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    pub(crate) async fn accept(&self) -> Peer {
        Peer {
            stream: soon(self.listener.accept()).await.unwrap().0,
        }
    }

    /// Whether nobody has connected since the last accept.
    pub(crate) fn untouched(&self) -> bool {
        futures::FutureExt::now_or_never(self.listener.accept()).is_none()
    }
}

/// One end of a plain connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
}

impl Peer {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Reads until what was read ends with `end`.
    pub(crate) async fn read_to(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            match soon(self.stream.read_u8()).await {
                Ok(byte) => read.push(byte),
                Err(error) => {
                    panic!("{error} after {:?}", String::from_utf8_lossy(&read));
                }
            }
        }
        String::from_utf8(read).unwrap()
    }

    /// Reads a message with a content-length: its head and its body.
    pub(crate) async fn message(&mut self) -> (String, Vec<u8>) {
        let head = self.read_to("\r\n\r\n").await;
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        let mut body = vec![0; length];
        soon(self.stream.read_exact(&mut body)).await.unwrap();
        (head, body)
    }

    /// Everything up to the end of the connection, or the error that ends it.
    pub(crate) async fn rest(&mut self) -> std::io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        soon(self.stream.read_to_end(&mut rest)).await?;
        Ok(rest)
    }

    /// The connection ends here without a byte.
    pub(crate) async fn closed(&mut self) {
        assert_eq!(self.rest().await.unwrap(), b"");
    }

    pub(crate) async fn reset(&mut self) {
        let error = self.rest().await.expect_err("a reset");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }

    /// No byte has arrived.
    pub(crate) fn silent(&self) -> bool {
        let read = self.stream.try_read(&mut [0; 1]);
        matches!(read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    }

    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }
}
