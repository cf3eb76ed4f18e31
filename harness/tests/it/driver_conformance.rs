//! What every driver promises, in one body that runs on each of them.
//!
//! The containers need an engine; where there is none their tests say so and are
//! skipped.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::driver_support::{self, begin, end_orderly, within};
use crate::needs;
use rehearsal::deployment::containers::{Containers, Engine};
use rehearsal::deployment::readiness::{output, ready};
use rehearsal::deployment::{
    Child, Driver, DriverKind, ExitOutcome, HostProcesses, Logs, Room, RunGuard, Seat, Signal,
    SignalError, Start, StartError, State, procfs,
};

struct Fixture {
    run: RunGuard,
    driver: Arc<dyn Driver>,
    directory: tempfile::TempDir,
}

impl Fixture {
    async fn new(kind: DriverKind, label: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let run = begin(&directory.path().join("state"), &format!("{kind}-{label}"));
        let driver: Arc<dyn Driver> = match kind {
            DriverKind::Processes => Arc::new(HostProcesses::new(run.registry().clone())),
            DriverKind::Containers => {
                let Some(engine) = needs::of_engine(Engine::connect(run.registry()).await) else {
                    run.finish().await;
                    return None;
                };
                Arc::new(Containers::open(&engine, [], &|_| {}).await.unwrap())
            }
        };
        Some(Self {
            run,
            driver,
            directory,
        })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn shell(&self, name: &str, script: &str) -> Start {
        Start {
            name: name.to_owned(),
            logs: Logs::together(self.path().join(format!("{name}.log"))),
            ..crate::driver_support::shell(script, self.path())
        }
    }

    async fn start(&self, seat: &Seat, name: &str, script: &str) -> Child {
        let start = self.shell(name, script);
        within(self.driver.start(start, seat, &Room::default()))
            .await
            .unwrap()
    }

    /// Orderly: nothing may be left for the end of the run to remove.
    async fn end(self) {
        end_orderly(&*self.driver, self.run).await;
    }
}

/// Each test once per driver.
macro_rules! conformance {
    ($($name:ident)*) => {
        mod processes {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let fixture = super::Fixture::new(super::DriverKind::Processes, &stringify!($name).replace('_', "-")).await;
                super::$name(fixture.unwrap()).await;
            })*
        }
        mod containers {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                if let Some(fixture) = super::Fixture::new(super::DriverKind::Containers, &stringify!($name).replace('_', "-")).await {
                    super::$name(fixture).await;
                }
            })*
        }
    };
}

conformance! {
    codes
    deaths
    offspring
    stops
    requests
    restarts
    starts_that_fail
    handles
    environments
    taps
    ports
    memory
}

/// A process that needs more memory than it may have dies of that, and one that does not
/// is none the worse for the limit.
async fn memory(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let script = |doublings: u32| {
        format!(
            "text=x; left={doublings}; \
             while [ $left -gt 0 ]; do text=$text$text; left=$((left - 1)); done; exit 7"
        )
    };
    for (name, doublings, dies) in [("modest-1#1", 16, false), ("greedy-1#1", 27, true)] {
        let start = Start {
            memory: Some(32 << 20),
            ..fixture.shell(name, &script(doublings))
        };
        let child = within(fixture.driver.start(start, &seat, &Room::default()))
            .await
            .unwrap();
        let outcome = within(child.exited()).await;
        assert_eq!(outcome != ExitOutcome::Code(7), dies, "{name} {outcome}");
    }
    let child = fixture.start(&seat, "free-1#1", &script(26)).await;
    assert_eq!(within(child.exited()).await, ExitOutcome::Code(7));
    drop(seat);
    fixture.end().await;
}

/// An exit code is told to every waiter, and the output is whole by then.
async fn codes(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let child = fixture
        .start(
            &seat,
            "probe-1#1",
            "echo to one; echo to the other >&2; exit 7",
        )
        .await;
    let both = futures::future::join(child.exited(), child.clone().exited());
    assert_eq!(
        within(both).await,
        (ExitOutcome::Code(7), ExitOutcome::Code(7))
    );
    assert_eq!(child.state(), State::Exited(ExitOutcome::Code(7)));
    let mut lines = child.logs().last_lines(10);
    lines.sort();
    assert_eq!(lines, ["to one", "to the other"]);
    drop(seat);
    fixture.end().await;
}

/// A kill is witnessed as one, and takes children along.
async fn deaths(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let script = "sleep 1000 & echo started; wait";
    let child = fixture.start(&seat, "probe-1#1", script).await;
    within(child.logs().line_containing("started"))
        .await
        .unwrap();
    child.signal(Signal::SIGKILL).unwrap();
    assert!(within(child.exited()).await.is_signal(Signal::SIGKILL));
    let refused = child.signal(Signal::SIGTERM).unwrap_err();
    assert!(matches!(refused, SignalError::Gone { .. }), "{refused}");
    drop(seat);
    fixture.end().await;
}

/// What came of a process and is nobody's child any more is dead when its death is told.
async fn offspring(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let kind = fixture.driver.kind();
    let length = format!("98765.{}{}", std::process::id(), kind as u8);
    let script = format!("(sleep {length} &); echo started; sleep 1000");
    let child = fixture.start(&seat, "probe-1#1", &script).await;
    within(child.logs().line_containing("started"))
        .await
        .unwrap();
    let alive = || {
        procfs::processes()
            .into_iter()
            .filter(|(_, stat)| !stat.is_dead())
            .filter_map(|(pid, _)| std::fs::read(format!("/proc/{pid}/cmdline")).ok())
            .any(|line| line == format!("sleep\0{length}\0").as_bytes())
    };
    within(async {
        while !alive() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    child.signal(Signal::SIGKILL).unwrap();
    within(child.exited()).await;
    assert!(!alive());
    drop(seat);
    fixture.end().await;
}

/// Stop and continue are witnessed; a stopped process can be killed.
async fn stops(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let script = "while :; do echo tick; sleep 0.01; done";
    let child = fixture.start(&seat, "probe-1#1", script).await;
    within(child.logs().line_containing("tick")).await.unwrap();
    for _ in 0..2 {
        child.signal(Signal::SIGSTOP).unwrap();
        assert!(within(child.stopped()).await);
        assert_eq!(child.state(), State::Stopped);
        child.signal(Signal::SIGCONT).unwrap();
        assert!(within(child.running()).await);
    }
    child.signal(Signal::SIGSTOP).unwrap();
    assert!(within(child.stopped()).await);
    assert!(within(child.kill()).await.is_signal(Signal::SIGKILL));
    assert!(
        !within(child.stopped()).await,
        "a dead process is not stopped"
    );
    drop(seat);
    fixture.end().await;
}

/// SIGTERM reaches the process itself; one that ignores it is killed after its grace.
async fn requests(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let script = "trap 'echo bye; exit 0' TERM; echo set; while :; do sleep 0.01; done";
    let obeying = fixture.start(&seat, "probe-1#1", script).await;
    within(obeying.logs().line_containing("set")).await.unwrap();
    let outcome = within(obeying.stop(Duration::from_secs(10))).await;
    assert_eq!(outcome, ExitOutcome::Code(0));
    assert_eq!(obeying.logs().last_lines(1), ["bye"]);
    let script = "trap '' TERM; echo set; while :; do sleep 0.01; done";
    let ignoring = fixture.start(&seat, "probe-1#2", script).await;
    within(ignoring.logs().line_containing("set"))
        .await
        .unwrap();
    let outcome = within(ignoring.stop(Duration::from_millis(50))).await;
    assert!(outcome.is_signal(Signal::SIGKILL), "{outcome}");
    drop(seat);
    fixture.end().await;
}

/// One incarnation follows the other in the same seat, and their output in one log.
async fn restarts(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let log = Logs::together(fixture.path().join("all.log"));
    for number in 1..=3 {
        let mut start = fixture.shell(
            &format!("probe-1#{number}"),
            "echo up $NUMBER; exec sleep 1000",
        );
        start
            .environment
            .insert("NUMBER".into(), number.to_string().into());
        start.logs = log.clone();
        let child = within(fixture.driver.start(start, &seat, &Room::default()))
            .await
            .unwrap();
        let expected = format!("up {number}");
        within(ready(
            &child,
            driver_support::LIMIT,
            driver_support::LIMIT,
            output(&child, &expected),
        ))
        .await
        .unwrap();
        child.signal(Signal::SIGKILL).unwrap();
        within(child.exited()).await;
    }
    assert_eq!(log.last_lines(10), ["up 1", "up 2", "up 3"]);
    drop(seat);
    fixture.end().await;
}

/// A program that does not exist is an error that names the process; nothing is left.
async fn starts_that_fail(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    for program in ["target/debug/no-such-worker", "no-such-worker"] {
        let mut start = fixture.shell("probe-1#1", "");
        start.program = program.into();
        let error = within(fixture.driver.start(start, &seat, &Room::default()))
            .await
            .unwrap_err();
        assert!(
            matches!(error, StartError::Launch { .. } | StartError::Engine { .. }),
            "{error:?}"
        );
        let said = error.to_string();
        assert!(
            said.contains("probe-1#1") && said.contains("no-such-worker"),
            "{said}"
        );
    }
    drop(seat);
    fixture.end().await;
}

/// The last handle takes the process along.
async fn handles(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let child = fixture.start(&seat, "probe-1#1", "exec sleep 1000").await;
    let exited = child.exited();
    drop(child);
    assert!(within(exited).await.is_signal(Signal::SIGKILL));
    drop(seat);
    fixture.end().await;
}

/// A process gets what it was given and the run's id, and nothing that it could use to
/// reach somebody else.
async fn environments(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let script =
        "echo listen=$LISTEN run=$REHEARSE_RUN_ID proxy=$HTTP_PROXY$http_proxy cargo=$CARGO";
    let mut start = fixture.shell("probe-1#1", script);
    start
        .environment
        .insert("LISTEN".into(), "127.0.0.1:1".into());
    let child = within(fixture.driver.start(start, &seat, &Room::default()))
        .await
        .unwrap();
    within(child.exited()).await;
    let expected = format!("listen=127.0.0.1:1 run={} proxy= cargo=", fixture.run.id());
    assert_eq!(child.logs().last_lines(1), [expected]);
    drop(seat);
    fixture.end().await;
}

/// What listens on the near side is reached by the process, and sees the end of its
/// connections when it is killed.
async fn taps(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let listener = TcpListener::bind((fixture.driver.near_side(), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let child = fixture
        .program(&seat, "probe-1#1", &["connect", &address.to_string()])
        .await;
    let accepted = tokio::task::spawn_blocking(move || listener.accept().unwrap());
    let (mut connection, _) = within(accepted).await.unwrap();
    connection
        .set_read_timeout(Some(driver_support::LIMIT))
        .unwrap();
    let mut greeting = [0; 5];
    connection.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"hello");
    child.signal(Signal::SIGKILL).unwrap();
    within(child.exited()).await;
    let end = connection.read(&mut [0; 1]);
    assert!(
        matches!(end, Ok(0))
            || end.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
    );
    drop(seat);
    fixture.end().await;
}

/// A process that listens where it is told to is reached where the seat says, again
/// and again, and by the same address.
async fn ports(fixture: Fixture) {
    let seat = within(fixture.driver.seat()).await.unwrap();
    let mut addresses = Vec::new();
    for number in 1..=2 {
        let port = seat.port().unwrap();
        let name = format!("probe-1#{number}");
        let child = fixture
            .program(&seat, &name, &["serve", &port.listen.to_string()])
            .await;
        within(ready(
            &child,
            driver_support::LIMIT,
            driver_support::LIMIT,
            output(&child, "serving"),
        ))
        .await
        .unwrap();
        assert_eq!(ask(port.reached), "who is there");
        addresses.push(port.reached.ip());
        child.signal(Signal::SIGKILL).unwrap();
        within(child.exited()).await;
    }
    assert_eq!(addresses[0], addresses[1]);
    drop(seat);
    fixture.end().await;
}

fn ask(address: SocketAddr) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection
        .set_read_timeout(Some(driver_support::LIMIT))
        .unwrap();
    connection.write_all(b"who is there").unwrap();
    connection.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

impl Fixture {
    /// Starts this test executable in the part of a process: see [`role_process`].
    async fn program(&self, seat: &Seat, name: &str, words: &[&str]) -> Child {
        let mut start = self.shell(name, "");
        start.program = std::env::current_exe().unwrap();
        start.arguments = [
            "--exact",
            "driver_conformance::role_process",
            "--ignored",
            "--nocapture",
        ]
        .map(Into::into)
        .to_vec();
        start
            .environment
            .insert("PART".into(), words.join(" ").into());
        within(self.driver.start(start, seat, &Room::default()))
            .await
            .unwrap()
    }
}

#[test]
#[ignore = "the part of a process; other tests execute it"]
fn role_process() {
    let part = std::env::var("PART").unwrap_or_default();
    match part.split_once(' ') {
        Some(("connect", address)) => {
            let mut connection = TcpStream::connect(address).unwrap();
            connection.write_all(b"hello").unwrap();
            let _ = connection.read(&mut [0; 1]);
        }
        Some(("serve", address)) => {
            let listener = TcpListener::bind(address).unwrap();
            println!("\nserving");
            for mut client in listener.incoming().flatten() {
                let mut said = Vec::new();
                client.read_to_end(&mut said).unwrap();
                client.write_all(&said).unwrap();
            }
        }
        _ => {}
    }
}
