//! A director that keeps what it is told and decides as the test says.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rehearsal::ids::{Author, CallId, ConnectionId, DependencyName};
use rehearsal::tap::{
    After, Before, Call, Director, Extent, PgReply, PgRequest, Reply, Request, Side,
};
use tokio::sync::watch;

/// Far more than anything here takes; reached only when a condition never comes true.
pub const LONG: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
#[expect(dead_code, reason = "ids are shown when a condition never comes true")]
pub enum Event {
    Connected(ConnectionId),
    Disconnected(ConnectionId, String),
    Before(Arc<Call>),
    Forwarded(CallId, Extent),
    After(CallId, Arc<Reply>, bool),
    Abandoned(CallId, Side),
    Misbehaved(Result<String, String>),
}

type OnBefore = dyn Fn(&PgRequest) -> BoxFuture<'static, Before> + Send + Sync;
type OnAfter = dyn Fn(&PgReply) -> BoxFuture<'static, After> + Send + Sync;

pub struct Recorder {
    number: AtomicU64,
    events: watch::Sender<Vec<Event>>,
    on_before: Mutex<Arc<OnBefore>>,
    on_after: Mutex<Arc<OnAfter>>,
    /// Whether what is held is merely late, and that was asked.
    late: watch::Sender<(bool, bool)>,
}

impl Recorder {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            number: AtomicU64::new(1),
            events: watch::Sender::new(Vec::new()),
            on_before: Mutex::new(Arc::new(|_| async { Before::Forward }.boxed())),
            on_after: Mutex::new(Arc::new(|_| async { After::Deliver }.boxed())),
            late: watch::Sender::new((false, false)),
        })
    }

    /// What is held is merely late from now on.
    pub fn be_late(&self) {
        self.late.send_modify(|late| late.0 = true);
    }

    /// Waits until it was asked whether a call is late.
    pub async fn asked_whether_late(&self) {
        let mut late = self.late.subscribe();
        let asked = late.wait_for(|late| late.1);
        crate::tap_http::witness::soon(asked).await.unwrap();
    }

    /// Decides on calls with a statement that contains `text`; others are forwarded.
    pub fn before(
        &self,
        text: &'static str,
        decide: impl Fn() -> BoxFuture<'static, Before> + Send + Sync + 'static,
    ) {
        *self.on_before.lock().unwrap() = Arc::new(move |request| {
            if request
                .statements
                .iter()
                .any(|statement| statement.sql.contains(text))
            {
                decide()
            } else {
                async { Before::Forward }.boxed()
            }
        });
    }

    /// Decides on replies with this command tag; others are delivered.
    pub fn after(
        &self,
        tag: &'static str,
        decide: impl Fn() -> BoxFuture<'static, After> + Send + Sync + 'static,
    ) {
        *self.on_after.lock().unwrap() = Arc::new(move |reply| {
            if reply.tags.iter().any(|given| given == tag) {
                decide()
            } else {
                async { After::Deliver }.boxed()
            }
        });
    }

    fn record(&self, event: Event) {
        self.events.send_modify(|events| events.push(event));
    }

    /// Waits until the events say so.
    pub async fn until<T>(&self, mut found: impl FnMut(&[Event]) -> Option<T>) -> T {
        let mut events = self.events.subscribe();
        let mut result = None;
        let waited = tokio::time::timeout(
            LONG,
            events.wait_for(|events| {
                result = found(events);
                result.is_some()
            }),
        )
        .await;
        assert!(
            waited.is_ok(),
            "never came; seen were {:#?}",
            self.events.borrow()
        );
        result.unwrap()
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.borrow().clone()
    }

    /// Forgets what was seen.
    pub fn forget(&self) {
        self.events.send_modify(Vec::clear);
    }

    /// What was asked before each call.
    pub fn requests(&self) -> Vec<PgRequest> {
        let events = self.events();
        events
            .iter()
            .filter_map(|event| match event {
                Event::Before(call) => match &call.request {
                    Request::Postgres(request) => Some(request.clone()),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }

    /// The statements of all calls.
    pub fn statements(&self) -> Vec<String> {
        let statements = self
            .requests()
            .into_iter()
            .flat_map(|request| request.statements);
        statements
            .map(|statement| statement.sql.to_string())
            .collect()
    }

    /// Every reply that came.
    pub fn replies(&self) -> Vec<PgReply> {
        let events = self.events();
        events
            .iter()
            .filter_map(|event| match event {
                Event::After(_, reply, _) => match &**reply {
                    Reply::Postgres(reply) => Some(reply.clone()),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }

    /// All that became durable.
    pub fn durable(&self) -> Vec<String> {
        let durable = self.replies().into_iter().flat_map(|reply| reply.durable);
        durable.map(|statement| statement.sql.to_string()).collect()
    }

    /// What became of calls that were to misbehave.
    pub fn misdeeds(&self) -> Vec<Result<String, String>> {
        let events = self.events();
        events
            .into_iter()
            .filter_map(|event| match event {
                Event::Misbehaved(outcome) => Some(outcome),
                _ => None,
            })
            .collect()
    }

    pub async fn disconnected(&self) -> String {
        self.until(|events| {
            events.iter().find_map(|event| match event {
                Event::Disconnected(_, reason) => Some(reason.clone()),
                _ => None,
            })
        })
        .await
    }

    pub async fn abandoned(&self) -> Side {
        self.until(|events| {
            events.iter().find_map(|event| match event {
                Event::Abandoned(_, side) => Some(*side),
                _ => None,
            })
        })
        .await
    }

    /// Waits for a call with a statement that contains `text`.
    pub async fn held(&self, text: &str) {
        self.until(|events| {
            events.iter().find_map(|event| match event {
                Event::Before(call) => match &call.request {
                    Request::Postgres(request) => request
                        .statements
                        .iter()
                        .any(|statement| statement.sql.contains(text))
                        .then_some(()),
                    _ => None,
                },
                _ => None,
            })
        })
        .await;
    }

    pub fn extents(&self) -> Vec<Extent> {
        let events = self.events();
        events
            .iter()
            .filter_map(|event| match event {
                Event::Forwarded(_, extent) => Some(*extent),
                _ => None,
            })
            .collect()
    }
}

impl Director for Recorder {
    fn next_call(&self) -> CallId {
        CallId(self.number.fetch_add(1, Ordering::Relaxed))
    }

    fn connected(&self, _: &Author, _: &DependencyName) -> ConnectionId {
        let id = ConnectionId(self.number.fetch_add(1, Ordering::Relaxed));
        self.record(Event::Connected(id));
        id
    }

    fn disconnected(&self, connection: ConnectionId, reason: &str) {
        self.record(Event::Disconnected(connection, reason.to_owned()));
    }

    fn before(&self, call: Arc<Call>) -> BoxFuture<'static, Before> {
        let on_before = Arc::clone(&self.on_before.lock().unwrap());
        let decision = match &call.request {
            Request::Postgres(request) => on_before(request),
            other => panic!("not of this tap: {other:?}"),
        };
        self.record(Event::Before(call));
        decision
    }

    fn forwarded(&self, call: &Call, extent: Extent) {
        self.record(Event::Forwarded(call.id, extent));
    }

    fn after(
        &self,
        call: Arc<Call>,
        reply: Arc<Reply>,
        deliverable: bool,
    ) -> BoxFuture<'static, After> {
        let on_after = Arc::clone(&self.on_after.lock().unwrap());
        let decision = match &*reply {
            Reply::Postgres(reply) => on_after(reply),
            _ => async { After::Deliver }.boxed(),
        };
        self.record(Event::After(call.id, reply, deliverable));
        decision
    }

    fn misbehaved(&self, _: &Call, outcome: Result<&str, &str>) {
        let outcome = outcome.map(str::to_owned).map_err(str::to_owned);
        self.record(Event::Misbehaved(outcome));
    }

    fn is_late(&self, _: &Call) -> bool {
        self.late.send_modify(|late| late.1 = true);
        self.late.borrow().0
    }

    fn abandoned(&self, call: &Call, side: Side) {
        self.record(Event::Abandoned(call.id, side));
    }
}
