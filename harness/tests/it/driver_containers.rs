//! What only containers can do. Needs an engine; where there is none the tests say so
//! and are skipped.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::driver_support::{LIMIT, begin, end_orderly, shell, within};
use crate::needs;
use rehearsal::deployment::containers::{
    ContainerOptions, Containers, DependencyContainer, Engine, Image,
};
use rehearsal::deployment::{
    Child, Driver as _, Logs, Room, RunGuard, Seat, Signal, Start, Variables, sweep,
};

struct Fixture {
    run: RunGuard,
    engine: Engine,
    driver: Containers,
    directory: tempfile::TempDir,
}

async fn fixture(label: &str) -> Option<Fixture> {
    let directory = tempfile::tempdir().unwrap();
    let run = begin(&directory.path().join("state"), label);
    let Some(engine) = needs::of_engine(Engine::connect(run.registry()).await) else {
        run.finish().await;
        return None;
    };
    Some(Fixture {
        driver: Containers::open(&engine, [], &|_| {}).await.unwrap(),
        run,
        engine,
        directory,
    })
}

impl Fixture {
    async fn shell(&self, seat: &Seat, room: &Room, script: &str) -> Child {
        let start = shell(script, self.directory.path());
        within(self.driver.start(start, seat, room)).await.unwrap()
    }

    /// Starts this test executable in the part of a process: see [`role_process`].
    async fn program(&self, seat: &Seat, part: &str) -> Child {
        let start = Start {
            program: std::env::current_exe().unwrap(),
            arguments: [
                "--exact",
                "driver_containers::role_process",
                "--ignored",
                "--nocapture",
            ]
            .map(Into::into)
            .to_vec(),
            environment: Variables::from([("PART".into(), part.into())]),
            ..shell("", self.directory.path())
        };
        within(self.driver.start(start, seat, &Room::default()))
            .await
            .unwrap()
    }

    async fn end(self) {
        end_orderly(&self.driver, self.run).await;
    }
}

/// `echo ADDRESS`: connects and sends back what it gets. `try ADDRESS …`: says which of
/// these can be connected to.
#[test]
#[ignore = "the part of a process; other tests execute it"]
fn role_process() {
    let part = std::env::var("PART").unwrap_or_default();
    let mut words = part.split(' ');
    match words.next() {
        Some("echo") => {
            let mut connection = TcpStream::connect(words.next().unwrap()).unwrap();
            let mut piece = [0; 1];
            while connection.read_exact(&mut piece).is_ok() {
                connection.write_all(&piece).unwrap();
            }
        }
        Some("try") => {
            for address in words {
                let address: SocketAddr = address.parse().unwrap();
                let tried = TcpStream::connect_timeout(&address, Duration::from_millis(300));
                println!("\nconnected {address} {}", tried.is_ok());
            }
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_cut_off_is_silent_and_goes_on_afterwards() {
    let Some(fixture) = fixture("cut-off").await else {
        return;
    };
    let seat = within(fixture.driver.seat()).await.unwrap();
    let listener = TcpListener::bind((fixture.driver.near_side(), 0)).unwrap();
    let part = format!("echo {}", listener.local_addr().unwrap());
    let child = fixture.program(&seat, &part).await;
    let accepted = tokio::task::spawn_blocking(move || listener.accept().unwrap());
    let (mut connection, peer) = within(accepted).await.unwrap();
    let echoed = |connection: &mut TcpStream, limit| {
        connection.set_read_timeout(Some(limit)).unwrap();
        let mut piece = [0; 1];
        connection.read_exact(&mut piece).map(|()| piece[0])
    };
    connection.write_all(b"1").unwrap();
    assert_eq!(echoed(&mut connection, LIMIT).unwrap(), b'1');

    within(seat.cut_off()).await.unwrap();
    connection.write_all(b"2").unwrap();
    let silence = echoed(&mut connection, Duration::from_millis(300)).unwrap_err();
    assert!(
        matches!(silence.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{silence}"
    );

    within(seat.join()).await.unwrap();
    assert_eq!(echoed(&mut connection, LIMIT).unwrap(), b'2');
    assert_eq!(connection.peer_addr().unwrap(), peer);
    child.signal(Signal::SIGKILL).unwrap();
    within(child.exited()).await;
    drop(seat);
    fixture.end().await;
}

/// Its engine is asked by way of a runtime of its own: this one has a single thread.
#[tokio::test]
async fn a_process_that_is_dead_at_once_blocks_nobody() {
    let Some(fixture) = fixture("dead-at-once").await else {
        return;
    };
    let seat = within(fixture.driver.seat()).await.unwrap();
    for _ in 0..4 {
        let child = fixture.shell(&seat, &Room::default(), "exit 0").await;
        let _ = child.signal(Signal::SIGKILL);
        within(child.exited()).await;
    }
    drop(seat);
    fixture.end().await;
}

/// Engines miscount who is in a network when many enter and leave at once, and refuse
/// to remove it ever after.
#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_many_enter_and_leave_can_be_removed() {
    const AT_ONCE: usize = 8;
    const EACH: usize = 2;
    let Some(fixture) = fixture("coming-and-going").await else {
        return;
    };
    let come_and_go = async |_| {
        for _ in 0..EACH {
            let seat = within(fixture.driver.seat()).await.unwrap();
            // One that was cut off is not used again.
            within(seat.cut_off()).await.unwrap();
            within(seat.join()).await.unwrap();
        }
    };
    futures::future::join_all((0..AT_ONCE).map(come_and_go)).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_reaches_the_taps_and_nothing_else() {
    let Some(fixture) = fixture("isolation").await else {
        return;
    };
    let seat = within(fixture.driver.seat()).await.unwrap();
    let tap = TcpListener::bind((fixture.driver.near_side(), 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let tap = TcpListener::bind(tap).unwrap();
    let loopback = TcpListener::bind("127.0.0.1:0").unwrap();
    let dependency = postgres(&fixture, "isolated").await;
    let places = [
        (tap.local_addr().unwrap(), true),
        (loopback.local_addr().unwrap(), false),
        (dependency.address(), false),
    ];
    let tried: Vec<String> = places.iter().map(|(place, _)| place.to_string()).collect();
    let child = fixture
        .program(&seat, &format!("try {}", tried.join(" ")))
        .await;
    within(child.exited()).await;
    let said = child.logs().last_lines(30);
    for (place, expected) in places {
        let line = format!("connected {place} {expected}");
        assert!(said.contains(&line), "no `{line}` in {said:?}");
    }
    within(dependency.remove()).await;
    drop(seat);
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_takes_more_memory_than_it_may_is_killed() {
    let Some(fixture) = fixture("memory").await else {
        return;
    };
    let seat = within(fixture.driver.seat()).await.unwrap();
    let room = Room {
        cpus: Some(0.5),
        ..Room::default()
    };
    let script = "text=x; while :; do text=$text$text; done";
    let start = Start {
        memory: Some(16 << 20),
        ..shell(script, fixture.directory.path())
    };
    let child = within(fixture.driver.start(start, &seat, &room))
        .await
        .unwrap();
    let outcome = within(child.exited()).await;
    assert!(
        outcome.is_signal(Signal::SIGKILL),
        "{outcome}: {:?}",
        child.logs().last_lines(5)
    );
    drop(seat);
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seat_that_is_kept_is_an_address_and_another_is_another() {
    let Some(fixture) = fixture("seats").await else {
        return;
    };
    let one = within(fixture.driver.seat()).await.unwrap();
    let other = within(fixture.driver.seat()).await.unwrap();
    let (first, second) = (one.port().unwrap(), one.port().unwrap());
    assert_eq!(first.reached.ip(), second.reached.ip());
    assert_ne!(
        first, second,
        "a late packet for one start is none for the next"
    );
    assert_ne!(first.reached.ip(), other.port().unwrap().reached.ip());
    drop((one, other));
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependency_is_frozen_thawed_killed_and_started_again() {
    let Some(fixture) = fixture("dependency").await else {
        return;
    };
    let dependency = postgres(&fixture, "database").await;
    let address = dependency.address();
    // The server's answer to a request for encryption: no.
    let asked = move || {
        let mut connection = TcpStream::connect_timeout(&address, LIMIT)?;
        connection.set_read_timeout(Some(Duration::from_millis(500)))?;
        connection.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
        let mut answer = [0; 1];
        connection.read_exact(&mut answer)?;
        std::io::Result::Ok(answer[0])
    };
    assert_eq!(asked().unwrap(), b'N');
    within(dependency.pause()).await.unwrap();
    assert!(asked().is_err(), "a frozen server answered");
    within(dependency.unpause()).await.unwrap();
    assert_eq!(asked().unwrap(), b'N');
    within(dependency.kill()).await.unwrap();
    assert_eq!(asked().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    within(dependency.restart(LIMIT)).await.unwrap();
    assert_eq!(asked().unwrap(), b'N');
    within(dependency.remove()).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_leaves_is_found_by_its_label() {
    let Some(fixture) = fixture("leftovers").await else {
        return;
    };
    let seat = within(fixture.driver.seat()).await.unwrap();
    let child = fixture
        .shell(&seat, &Room::default(), "exec sleep 1000")
        .await;
    let dependency = postgres(&fixture, "forgotten").await;
    let run = fixture.run.id().to_string();
    // The run ends without closing anything.
    let swept = within(fixture.run.finish()).await;
    assert_eq!(swept.problems, [""; 0]);
    for kind in ["container", "network", "volume"] {
        let found = swept
            .killed
            .iter()
            .any(|thing| thing.starts_with(kind) && thing.contains(&run));
        assert!(found, "no {kind} of {run} in {:?}", swept.killed);
    }
    within(child.exited()).await;
    drop((seat, dependency));
    let report = sweep(&fixture.directory.path().join("state")).unwrap();
    assert_eq!((report.swept.len(), report.alive.len()), (0, 0));
}

/// A harness in mid-run, with a process and a dependency in containers. It panics once its
/// input ends.
#[test]
#[ignore = "the part of a harness; another test executes it"]
fn role_harness() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let Some(fixture) = fixture("mid-run").await else {
            return;
        };
        let seat = within(fixture.driver.seat()).await.unwrap();
        let _process = fixture
            .shell(&seat, &Room::default(), "exec sleep 1000")
            .await;
        let _dependency = postgres(&fixture, "held").await;
        println!("in mid-run {}", fixture.run.id());
        let mut input = Vec::new();
        std::io::stdin().read_to_end(&mut input).unwrap();
        panic!("a bug of the harness");
    });
}

/// What the engine has of a run.
fn things(run: &str) -> String {
    let label = format!("label=rehearsal.run={run}");
    let kinds: [&[&str]; 3] = [&["ps", "--all"], &["network", "ls"], &["volume", "ls"]];
    let lists = kinds.map(|kind| {
        let mut docker = Command::new("docker");
        let listed = docker.args(kind).args(["--quiet", "--filter", &label]);
        let output = listed.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    });
    lists.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_panics_or_is_killed_leaves_nothing_in_the_engine() {
    let Some(here) = fixture("nobody").await else {
        return;
    };
    here.end().await;
    for signal in [None, Some(Signal::SIGTERM), Some(Signal::SIGKILL)] {
        let mut harness = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "driver_containers::role_harness"])
            .args(["--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(harness.stdout.take().unwrap()).lines();
        let run = lines
            .find_map(|line| line.unwrap().strip_prefix("in mid-run ").map(str::to_owned))
            .unwrap();
        assert!(things(&run).lines().count() >= 4, "{}", things(&run));
        match signal {
            None => drop(harness.stdin.take()),
            Some(signal) => {
                kill(Pid::from_raw(harness.id().cast_signed()), signal).unwrap();
            }
        }
        assert!(!harness.wait().unwrap().success());
        let begun = Instant::now();
        while !things(&run).is_empty() {
            assert!(
                begun.elapsed() < LIMIT,
                "left by {signal:?}: {}",
                things(&run)
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn postgres(fixture: &Fixture, name: &str) -> DependencyContainer {
    let options = ContainerOptions {
        name: name.to_owned(),
        image: Image::Postgres,
        port: 5432,
        environment: BTreeMap::from([("POSTGRES_PASSWORD".to_owned(), "secret".to_owned())]),
        arguments: vec!["-c".to_owned(), "fsync=off".to_owned()],
        logs: Logs::together(fixture.directory.path().join(format!("{name}.log"))),
    };
    let started = DependencyContainer::start(&fixture.engine, options, LIMIT, &|_| {});
    started.await.unwrap()
}
