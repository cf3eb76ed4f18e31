//! The tap before a real server, as a published client's bytes come to it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command as Program};

use super::{RedisReply, describe, open_before};
use crate::ids::{Author, CallId, ConnectionId, DependencyName};
use crate::tap::{
    After, Before, Call, Director, Discard, Extent, Gate, Reply, Request, Side, Tap, TapContext,
};

/// Writes down what it is asked, and decides as it was told, one after the other.
#[derive(Default)]
struct Recorder {
    seen: Mutex<Vec<String>>,
    before: Mutex<VecDeque<Before>>,
    after: Mutex<VecDeque<After>>,
    /// What is held is merely late, until it is released.
    late: Mutex<Option<tokio::sync::oneshot::Receiver<()>>>,
    is_late: std::sync::atomic::AtomicBool,
}

impl Recorder {
    fn note(&self, what: String) {
        self.seen.lock().unwrap().push(what);
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    async fn sees(&self, what: &str) {
        let looking = async {
            while !self.seen().iter().any(|seen| seen == what) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(20), looking).await;
        assert!(found.is_ok(), "no `{what}` in {:?}", self.seen());
    }
}

fn told(call: &Call) -> String {
    match &call.request {
        Request::Redis(request) => describe::request(request),
        other => panic!("{other:?}"),
    }
}

impl Director for Recorder {
    fn next_call(&self) -> CallId {
        CallId(1)
    }
    fn connected(&self, _: &Author, _: &DependencyName) -> ConnectionId {
        ConnectionId(1)
    }
    fn disconnected(&self, _: ConnectionId, reason: &str) {
        self.note(format!("over: {reason}"));
    }
    fn before(&self, call: Arc<Call>) -> BoxFuture<'static, Before> {
        self.note(format!("before {}", told(&call)));
        let decided = self.before.lock().unwrap().pop_front();
        let late = self.late.lock().unwrap().take();
        Box::pin(async move {
            if let Some(late) = late {
                let _ = late.await;
            }
            decided.unwrap_or(Before::Forward)
        })
    }
    fn forwarded(&self, call: &Call, extent: Extent) {
        if extent != Extent::Whole {
            self.note(format!("{extent:?} of {}", told(call)));
        }
    }
    fn after(&self, _: Arc<Call>, reply: Arc<Reply>, got: bool) -> BoxFuture<'static, After> {
        let reply = match &*reply {
            Reply::Redis(reply) => describe::reply(reply),
            other => format!("{other:?}"),
        };
        let lost = if got { "" } else { " (lost)" };
        self.note(format!("after {reply}{lost}"));
        let decided = if got {
            self.after.lock().unwrap().pop_front()
        } else {
            None
        };
        Box::pin(async move { decided.unwrap_or(After::Deliver) })
    }
    fn is_late(&self, call: &Call) -> bool {
        let late = self.is_late.load(std::sync::atomic::Ordering::Relaxed);
        if late {
            self.note(format!("late {}", told(call)));
        }
        late
    }
    fn abandoned(&self, call: &Call, side: Side) {
        self.note(format!("abandoned {} {side:?}", told(call)));
    }
}

struct Bench {
    recorder: Arc<Recorder>,
    gate: Arc<Gate>,
    tap: Tap,
    server: SocketAddr,
    _child: Child,
    _home: TempDir,
}

impl Bench {
    /// Nothing where no server is on this machine.
    async fn new() -> Option<Self> {
        let home = TempDir::new().unwrap();
        let port = crate::deployment::free_port().unwrap();
        let started = Program::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--save",
                "",
                "--bind",
                "127.0.0.1",
            ])
            .current_dir(home.path())
            .stdout(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let Ok(child) = started else {
            let required = std::env::var("REHEARSE_REQUIRE").unwrap_or_default();
            let required = required.split(',').any(|wanted| wanted.trim() == "redis");
            assert!(
                !required,
                "REHEARSE_REQUIRE names redis, and there is no redis-server"
            );
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                b"SKIPPED: no redis-server on this machine\n",
            );
            return None;
        };
        let server: SocketAddr = ([127, 0, 0, 1], port).into();
        while TcpStream::connect(server).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let (recorder, gate) = (Arc::new(Recorder::default()), Arc::new(Gate::new()));
        let context = TapContext {
            author: Author::Client,
            dependency: "redis".into(),
            upstream: server,
            near_side: server.ip(),
            director: recorder.clone(),
            gate: gate.clone(),
        };
        let tap = open_before(context, Arc::default()).await.unwrap();
        Some(Self {
            recorder,
            gate,
            tap,
            server,
            _child: child,
            _home: home,
        })
    }

    async fn client(&self) -> TcpStream {
        TcpStream::connect(self.tap.address()).await.unwrap()
    }

    fn decide(&self, before: Before) {
        self.recorder.before.lock().unwrap().push_back(before);
    }

    fn decide_after(&self, after: After) {
        self.recorder.after.lock().unwrap().push_back(after);
    }

    /// What the server itself says, past the tap.
    async fn asked(&self, line: &str) -> String {
        let mut direct = TcpStream::connect(self.server).await.unwrap();
        says(
            &mut direct,
            &format!("{line}\r\nECHO end\r\n"),
            "$3\r\nend\r\n",
        )
        .await
    }
}

/// Sends something and reads until the answer ends so.
async fn says(stream: &mut TcpStream, sent: &str, end: &str) -> String {
    stream.write_all(sent.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&seen).ends_with(end) {
            if stream.read_buf(&mut seen).await.unwrap_or(0) == 0 {
                break;
            }
        }
    };
    let done = tokio::time::timeout(Duration::from_secs(20), reading).await;
    let seen = String::from_utf8_lossy(&seen).into_owned();
    assert!(done.is_ok(), "{sent:?} was answered {seen:?}");
    seen
}

#[tokio::test]
async fn a_pipeline_passes_unchanged_and_each_command_is_a_call() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    let sent = "LPUSH jobs a b\r\n*2\r\n$4\r\nLLEN\r\n$4\r\njobs\r\nLRANGE jobs 0 -1\r\nNOSUCH\r\nECHO z\r\n";
    let through = says(&mut bench.client().await, sent, "$1\r\nz\r\n").await;
    bench.asked("FLUSHALL").await;
    let mut direct = TcpStream::connect(bench.server).await.unwrap();
    assert_eq!(through, says(&mut direct, sent, "$1\r\nz\r\n").await);
    let seen = bench.recorder.seen();
    let expected = [
        "before LPUSH jobs",
        "after 2",
        "before LLEN jobs",
        "after 2",
        "before LRANGE jobs",
        "after a list of 2",
        "before NOSUCH",
    ];
    assert_eq!(seen[..7], expected);
    assert_eq!(seen[8..10], ["before ECHO", "after 1 bytes"]);
}

#[tokio::test]
async fn a_transaction_is_one_call_at_exec() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    let mut client = bench.client().await;
    let sent = "MULTI\r\nLPUSH jobs a\r\nSET k v\r\nEXEC\r\n";
    let answer = says(&mut client, sent, "*2\r\n:1\r\n+OK\r\n").await;
    assert_eq!(answer, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+OK\r\n");
    assert_eq!(
        bench.recorder.seen(),
        ["before LPUSH jobs; SET k", "after 1; OK"]
    );
    // It is refused, and the server has forgotten it.
    bench.decide(Before::Answer(Reply::Redis(RedisReply::failed(
        "LOADING rehearsal answers LOADING",
    ))));
    let answer = says(&mut client, sent, "LOADING\r\n").await;
    assert!(
        answer.ends_with("+QUEUED\r\n-LOADING rehearsal answers LOADING\r\n"),
        "{answer}"
    );
    assert_eq!(says(&mut client, "LLEN jobs\r\n", ":1\r\n").await, ":1\r\n");
    // Passed on twice, it is executed twice, and answered once.
    bench.decide(Before::ForwardTwice);
    let answer = says(&mut client, sent, ":3\r\n+OK\r\n").await;
    assert_eq!(answer, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:3\r\n+OK\r\n");
    assert_eq!(
        says(&mut client, "LLEN jobs\r\n", ":3\r\n")
            .await
            .matches(":3")
            .count(),
        1
    );
    // Watched keys that changed: nothing is executed.
    says(&mut client, "WATCH k\r\n", "+OK\r\n").await;
    bench.asked("SET k w").await;
    assert!(
        says(&mut client, sent, "*-1\r\n")
            .await
            .ends_with("*-1\r\n")
    );
    assert!(
        bench
            .recorder
            .seen()
            .contains(&"after nothing executed".to_owned())
    );
}

#[tokio::test]
async fn a_lost_reply_took_effect_and_a_lost_request_did_not() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    bench.decide_after(After::Discard(Discard::Reset));
    assert_eq!(
        says(&mut bench.client().await, "LPUSH jobs a\r\n", "never").await,
        ""
    );
    assert!(bench.asked("LLEN jobs").await.starts_with(":1"));
    bench.decide(Before::Discard(Discard::Close));
    assert_eq!(
        says(&mut bench.client().await, "LPUSH jobs a\r\n", "never").await,
        ""
    );
    assert!(bench.asked("LLEN jobs").await.starts_with(":1"));
    bench.decide_after(After::Replace(Reply::Redis(RedisReply::failed(
        "OOM rehearsal answers OOM",
    ))));
    let mut client = bench.client().await;
    assert_eq!(
        says(&mut client, "INCR n\r\n", "\r\n").await,
        "-OOM rehearsal answers OOM\r\n"
    );
    assert_eq!(says(&mut client, "INCR n\r\n", "\r\n").await, ":2\r\n");
}

#[tokio::test]
async fn a_pop_that_waits_takes_nothing_once_its_client_is_gone() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    let mut client = bench.client().await;
    client.write_all(b"BLPOP jobs 0\r\n").await.unwrap();
    bench.recorder.sees("before BLPOP jobs").await;
    drop(client);
    bench
        .recorder
        .sees("over: the client closed its connection")
        .await;
    bench.recorder.sees("abandoned BLPOP jobs After").await;
    assert!(bench.asked("LPUSH jobs a").await.starts_with(":1"));
    assert!(bench.asked("LLEN jobs").await.starts_with(":1"));
    // One that is there gets it.
    let mut client = bench.client().await;
    let popped = says(&mut client, "BLPOP jobs 0\r\n", "a\r\n").await;
    assert_eq!(popped, "*2\r\n$4\r\njobs\r\n$1\r\na\r\n");
}

#[tokio::test]
async fn a_late_call_reaches_its_dependency_though_its_client_left() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    let (release, late) = tokio::sync::oneshot::channel();
    *bench.recorder.late.lock().unwrap() = Some(late);
    let is_late = &bench.recorder.is_late;
    is_late.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut client = bench.client().await;
    client.write_all(b"LPUSH jobs a\r\n").await.unwrap();
    bench.recorder.sees("before LPUSH jobs").await;
    drop(client);
    bench.recorder.sees("late LPUSH jobs").await;
    release.send(()).unwrap();
    bench.recorder.sees("after 1 (lost)").await;
    assert!(bench.asked("LLEN jobs").await.starts_with(":1"));
}

#[tokio::test]
async fn nothing_passes_a_closed_gate() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    let mut client = bench.client().await;
    says(&mut client, "PING\r\n", "+PONG\r\n").await;
    bench.gate.close().await;
    client.write_all(b"LPUSH jobs a\r\n").await.unwrap();
    drop(client);
    bench.tap.drain().await;
    assert!(bench.asked("LLEN jobs").await.starts_with(":0"));
    assert_eq!(
        bench.recorder.seen().last().unwrap(),
        "over: the gate was closed"
    );
}

#[tokio::test]
async fn channels_go_by_and_the_connection_serves_on() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    for version in ["2", "3"] {
        let mut client = bench.client().await;
        let hello = says(&mut client, &format!("HELLO {version}\r\n"), "\r\n").await;
        assert!(
            hello.contains("redis") || hello.contains("valkey"),
            "{hello}"
        );
        let mut rest = hello;
        while !rest.contains("modules") {
            rest.push_str(&says(&mut client, "", "\r\n").await);
        }
        says(&mut client, "SUBSCRIBE c\r\n", ":1\r\n").await;
        bench.asked("PUBLISH c text").await;
        assert!(says(&mut client, "", "text\r\n").await.contains("message"));
        says(&mut client, "UNSUBSCRIBE c\r\n", ":0\r\n").await;
        assert_eq!(
            says(&mut client, "GET none\r\n", "\r\n").await.len(),
            if version == "3" { 3 } else { 5 }
        );
        bench.recorder.sees("after nothing").await;
    }
}

#[tokio::test]
async fn what_would_hide_the_replies_is_refused() {
    let Some(bench) = Bench::new().await else {
        return;
    };
    let mut client = bench.client().await;
    assert!(
        says(&mut client, "MONITOR\r\n", "\r\n")
            .await
            .starts_with("-ERR the tap")
    );
    assert!(
        says(&mut client, "CLIENT REPLY OFF\r\n", "\r\n")
            .await
            .starts_with("-ERR the tap")
    );
    assert_eq!(says(&mut client, "PING\r\n", "\r\n").await, "+PONG\r\n");
    let mut tls = bench.client().await;
    assert!(
        says(&mut tls, "\u{16}\u{3}\u{1}", "\r\n")
            .await
            .contains("TLS")
    );
}
