//! The board as a director, with synthetic calls and an actor that has no processes.

mod announcing;
mod attribution;
mod calls;
mod death;
mod decision;
mod effects;
mod hands;
mod interference;
mod quiet;
mod standing;
mod unclear;
mod unnamed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Actor, Board, Inner, Life};
use crate::checkpoint;
use crate::fault::{Effect, Fault, Point, Times, Whose};
use crate::history::{DeathCause, Entry, Event, History};
use crate::ids::{Author, ConnectionId, FaultId, Incarnation};
use crate::manifest::Manifest;
use crate::rehearsal::deliveries::Delivery;
use crate::tap::{
    After, Before, Bind, Call, Director as _, HttpReply, HttpRequest, PgReply, PgRequest, Reply,
    Request, SqsReply, SqsRequest, Statement, TransactionStatus,
};

/// A board with a packer that runs, and everything that was done in its name.
struct Bench {
    board: Board,
    hands: Arc<Hands>,
    packer: Incarnation,
    _directory: tempfile::TempDir,
}

/// An actor without processes: what it is asked to do is done once it is let.
struct Hands {
    board: Weak<Inner>,
    asked: Mutex<Vec<(Incarnation, Signal)>>,
    expired: Mutex<Vec<String>>,
    let_go: watch::Sender<bool>,
    fails: Mutex<Option<String>>,
}

impl Actor for Hands {
    fn signal(
        &self,
        incarnation: Incarnation,
        signal: Signal,
        _: Option<FaultId>,
    ) -> BoxFuture<'static, Result<String, String>> {
        self.asked
            .lock()
            .unwrap()
            .push((incarnation.clone(), signal));
        let board = Board(self.board.upgrade().unwrap());
        let mut let_go = self.let_go.subscribe();
        let fails = self.fails.lock().unwrap().clone();
        async move {
            match signal {
                Signal::SIGKILL => board.set_life(&incarnation, Life::Ending),
                Signal::SIGSTOP => board.set_life(&incarnation, Life::Stopped),
                _ => {}
            }
            let _ = let_go.wait_for(|let_go| *let_go).await;
            if let Some(reason) = fails {
                return Err(reason);
            }
            if signal == Signal::SIGKILL {
                let cause = Some(DeathCause::Ordered);
                board.exited(&incarnation, None, Some("SIGKILL".to_owned()), cause);
            }
            Ok(format!("{incarnation} got {signal}"))
        }
        .boxed()
    }

    fn make_again(&self, call: Arc<Call>, _: std::time::Duration) -> BoxFuture<'static, ()> {
        let asked = format!("again {}", call.id);
        self.expired.lock().unwrap().push(asked);
        Box::pin(async {})
    }

    fn expire(&self, orphans: Vec<Delivery>) -> BoxFuture<'static, ()> {
        let receipts = orphans.into_iter().map(|orphan| orphan.receipt);
        self.expired.lock().unwrap().extend(receipts);
        async {}.boxed()
    }
}

fn packer(start: u32) -> Incarnation {
    Incarnation {
        role: "packer".into(),
        instance: 1,
        start,
    }
}

/// A signal at a stage of a message, or of any.
fn fault(signal: Signal, stage: &str, message: Option<&str>, times: Times) -> Fault {
    Fault {
        effect: Effect::Signal(signal),
        point: Point::stage(stage),
        whose: message.map_or(Whose::Any, |message| Whose::These(vec![message.into()])),
        times,
        may: false,
    }
}

impl Bench {
    fn new() -> Self {
        Self::with_manifest(|_| {})
    }

    fn with_manifest(change: impl FnOnce(&mut Manifest)) -> Self {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge/rehearsal.yaml");
        let mut manifest = Manifest::load(&path).unwrap();
        change(&mut manifest);
        let manifest = Arc::new(manifest);
        let directory = tempfile::tempdir().unwrap();
        let history = Arc::new(History::begin(directory.path(), Vec::new()).unwrap());
        let queues =
            BTreeMap::from([(("queue".into(), "orders".to_owned()), "orders-7".to_owned())]);
        let board = Board::new(manifest, history, queues);
        let hands = Arc::new(Hands {
            board: Arc::downgrade(&board.0),
            asked: Mutex::default(),
            expired: Mutex::default(),
            let_go: watch::Sender::new(true),
            fails: Mutex::default(),
        });
        board.set_actor(Arc::clone(&hands) as Arc<dyn Actor>);
        let packer = packer(1);
        board.register(&packer, &Arc::default());
        Self {
            board,
            hands,
            packer,
            _directory: directory,
        }
    }

    /// Declares and accepts messages; the job of M1 is `job-M1`.
    fn with(self, messages: &[&str]) -> Self {
        for message in messages {
            self.board.declare(&(*message).into(), None, &[message]);
            self.board.submitting(&(*message).into());
            self.board
                .accepted(&(*message).into(), &format!("job-{message}"));
        }
        self
    }

    fn hold_the_actor(&self) {
        self.hands.let_go.send_replace(false);
    }

    fn let_the_actor_go(&self) {
        self.hands.let_go.send_replace(true);
    }

    fn call(&self, by: &Incarnation, dependency: &str, request: Request) -> Arc<Call> {
        let author = Author::Process(by.clone());
        Arc::new(Call {
            id: self.board.next_call(),
            author,
            dependency: dependency.into(),
            connection: ConnectionId(1),
            request,
        })
    }

    /// A statement of its own transaction.
    fn statement(&self, sql: &str, binds: &[&str]) -> Arc<Call> {
        let statement = statement(sql, binds);
        let request = Request::Postgres(PgRequest {
            statements: vec![statement],
            transaction: Vec::new(),
            commits: true,
            elsewhere: None,
        });
        self.call(&self.packer, "database", request)
    }

    fn insert(&self, table: &str, id: &str) -> Arc<Call> {
        self.statement(&format!("insert into {table} values ($1)"), &[id])
    }

    fn post(&self, body: &Value) -> Arc<Call> {
        let request = HttpRequest {
            method: "POST".to_owned(),
            path: "/parcels".to_owned(),
            query: None,
            headers: Vec::new(),
            body: Bytes::from(body.to_string()),
            is_cut: false,
        };
        self.call(&self.packer, "carrier", Request::Http(request))
    }

    fn announcement(&self, stage: &str) -> Arc<Call> {
        let request = HttpRequest {
            method: "POST".to_owned(),
            path: format!("/{stage}"),
            query: None,
            headers: Vec::new(),
            body: Bytes::new(),
            is_cut: false,
        };
        self.call(&self.packer, checkpoint::DEPENDENCY, Request::Http(request))
    }

    fn action(&self, by: &Incarnation, action: &str, body: Value) -> Arc<Call> {
        self.action_on(by, "orders-7", action, body)
    }

    fn action_on(&self, by: &Incarnation, queue: &str, action: &str, body: Value) -> Arc<Call> {
        let request = SqsRequest {
            action: action.to_owned(),
            queue: Some(queue.to_owned()),
            body,
            invocation: None,
            attempt: 1,
        };
        self.call(by, "queue", Request::Sqs(request))
    }

    fn receive(&self, by: &Incarnation) -> Arc<Call> {
        self.action(by, "ReceiveMessage", json!({}))
    }

    /// A packer receives messages, each as `copy-<message>` and `receipt-<message>`.
    async fn receives(&self, by: &Incarnation, messages: &[&str]) -> After {
        let call = self.receive(by);
        let _ = self.board.before(Arc::clone(&call)).await;
        self.board.after(call, delivering(messages), true).await
    }

    async fn before(&self, call: &Arc<Call>) -> Before {
        self.board.before(Arc::clone(call)).await
    }

    /// A call from its beginning to its successful reply.
    async fn whole(&self, call: &Arc<Call>) -> After {
        assert!(matches!(self.before(call).await, Before::Forward));
        self.board
            .after(Arc::clone(call), success(call), true)
            .await
    }

    fn entries(&self) -> Vec<Entry> {
        self.board.history().entries()
    }

    /// The kinds of entries that matter to a fault, in order.
    fn fault_entries(&self) -> Vec<&'static str> {
        self.entries()
            .iter()
            .filter_map(|entry| match entry.event {
                Event::Stage { .. } => Some("stage"),
                Event::Triggered { .. } => Some("triggered"),
                Event::Exited { .. } => Some("exited"),
                Event::Landed { .. } => Some("landed"),
                Event::Missed { .. } => Some("missed"),
                Event::Injected { .. } => Some("injected"),
                Event::Doubt { .. } => Some("doubt"),
                _ => None,
            })
            .collect()
    }

    /// Passages as stage and message.
    fn passages(&self) -> Vec<(String, Option<String>)> {
        self.entries()
            .into_iter()
            .filter_map(|entry| match entry.event {
                Event::Stage { stage, message, .. } => Some((
                    stage.to_string(),
                    message.map(|message| message.to_string()),
                )),
                _ => None,
            })
            .collect()
    }

    fn asked(&self) -> Vec<Signal> {
        let asked = self.hands.asked.lock().unwrap();
        asked.iter().map(|(_, signal)| *signal).collect()
    }

    fn expired(&self) -> BTreeSet<String> {
        self.hands.expired.lock().unwrap().iter().cloned().collect()
    }

    fn reasons(&self, starting: &[&str]) -> Vec<String> {
        let starting: Vec<String> = starting.iter().map(ToString::to_string).collect();
        let reasons = self.board.busy(&starting);
        reasons.iter().map(ToString::to_string).collect()
    }
}

fn passed(stage: &str, message: Option<&str>) -> (String, Option<String>) {
    (stage.to_owned(), message.map(str::to_owned))
}

fn statement(sql: &str, binds: &[&str]) -> Statement {
    Statement {
        sql: sql.into(),
        binds: binds
            .iter()
            .map(|bind| Bind::Text((*bind).to_owned()))
            .collect(),
        wrote: Some(1),
        copied: None,
    }
}

/// The reply that a call hopes for.
fn success(call: &Call) -> Arc<Reply> {
    Arc::new(match &call.request {
        Request::Http(_) => Reply::Http(HttpReply {
            status: 202,
            headers: Vec::new(),
            body: Bytes::new(),
        }),
        Request::Sqs(_) => sqs(json!({})),
        Request::Redis(_) => Reply::Redis(crate::protocol::redis::RedisReply::default()),
        Request::Postgres(request) => Reply::Postgres(PgReply {
            tags: vec!["INSERT 0 1".to_owned()],
            error: None,
            status: TransactionStatus::Idle,
            durable: request.statements.clone(),
            effects: Vec::new(),
        }),
    })
}

fn sqs(body: Value) -> Reply {
    Reply::Sqs(SqsReply {
        status: 200,
        error: None,
        body,
        deletions: Vec::new(),
    })
}

fn delivering(messages: &[&str]) -> Arc<Reply> {
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| {
            json!({
                "MessageId": format!("copy-{message}"),
                "ReceiptHandle": format!("receipt-{message}"),
                "Body": json!({ "order": format!("job-{message}") }).to_string(),
            })
        })
        .collect();
    Arc::new(sqs(json!({ "Messages": messages })))
}

/// Whether a future still waits after all that can run has run.
async fn waits<F: Future + Unpin>(future: &mut F) -> bool {
    for _ in 0..20 {
        if future.now_or_never().is_some() {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}
