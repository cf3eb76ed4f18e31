//! What can be done to one process, and what is seen of it.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use crate::needs::Need;
use nix::errno::Errno;

use crate::driver_support::{self, begin, gone, shell, start_telling, within};
use rehearsal::deployment::readiness::{Cause, Condition, http, output, ready};
use rehearsal::deployment::{
    Child, ExitOutcome, RunGuard, Signal, SignalError, StartError, State, procfs,
};

struct Fixture {
    run: RunGuard,
    directory: tempfile::TempDir,
}

fn fixture(label: &str) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    Fixture {
        run: begin(&directory.path().join("state"), label),
        directory,
    }
}

impl Fixture {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    async fn start(&self, script: &str) -> Child {
        Child::start(shell(script, self.path()), self.run.registry())
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn an_exit_code_is_told_to_every_waiter() {
    let fixture = fixture("code");
    let child = fixture.start("exit 7").await;
    let (one, other) = within(futures::future::join(
        child.exited(),
        child.clone().exited(),
    ))
    .await;
    assert_eq!((one, other), (ExitOutcome::Code(7), ExitOutcome::Code(7)));
    assert_eq!(child.state(), State::Exited(ExitOutcome::Code(7)));
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn each_deadly_signal_is_told_apart() {
    let fixture = fixture("signals");
    for signal in [
        Signal::SIGKILL,
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGABRT,
        Signal::SIGSEGV,
    ] {
        let child = fixture.start("exec sleep 100").await;
        child.signal(signal).unwrap();
        let outcome = within(child.exited()).await;
        assert!(outcome.is_signal(signal), "{outcome}");
    }
    // No name for it in nix, and the end must be seen all the same.
    let child = fixture.start("kill -40 $$").await;
    assert_eq!(within(child.exited()).await, ExitOutcome::Signal(40));
    within(fixture.run.finish()).await;
}

/// As under `nohup`, or with `&` in a script.
#[test]
fn signals_that_the_harness_ignores_reach_its_processes() {
    let script = "trap '' CHLD INT TERM; exec \"$0\" --exact driver_processes::each_deadly_signal_is_told_apart";
    let test = std::env::current_exe().unwrap();
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg(test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[tokio::test]
async fn stop_and_continue_are_witnessed() {
    let fixture = fixture("stop");
    let child = fixture.start("exec sleep 100").await;
    for _ in 0..3 {
        child.signal(Signal::SIGSTOP).unwrap();
        assert!(within(child.stopped()).await);
        assert_eq!(procfs::stat(child.pid()).unwrap().state, 'T');
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
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_requested_stop_leads_to_a_kill_when_it_is_ignored() {
    let fixture = fixture("grace");
    let obeying = fixture
        .start("trap 'exit 0' TERM; echo set; while :; do sleep 0.01; done")
        .await;
    within(obeying.logs().line_containing("set")).await.unwrap();
    assert_eq!(
        within(obeying.stop(Duration::from_secs(10))).await,
        ExitOutcome::Code(0)
    );
    let mut ignoring = shell(
        "trap '' TERM; echo set; while :; do sleep 0.01; done",
        fixture.path(),
    );
    ignoring.logs = rehearsal::deployment::Logs::together(fixture.path().join("ignoring.log"));
    let ignoring = Child::start(ignoring, fixture.run.registry())
        .await
        .unwrap();
    within(ignoring.logs().line_containing("set"))
        .await
        .unwrap();
    assert!(
        within(ignoring.stop(Duration::from_millis(50)))
            .await
            .is_signal(Signal::SIGKILL)
    );
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_dead_process_takes_no_signal() {
    let fixture = fixture("recycled");
    let child = fixture.start("exit 0").await;
    within(child.exited()).await;
    let refused = child.signal(Signal::SIGKILL).unwrap_err();
    assert!(matches!(
        refused,
        SignalError::Gone {
            outcome: ExitOutcome::Code(0),
            ..
        }
    ));
    assert_eq!(
        refused.to_string(),
        "cannot send SIGKILL to `probe-1#1`: it exited with code 0"
    );
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn the_group_is_gone_when_the_death_is_told() {
    let fixture = fixture("group");
    let (child, grandchild) = start_telling(
        "sleep 100 & echo pid $!; wait",
        fixture.path(),
        fixture.run.registry(),
    )
    .await;
    assert!(procfs::stat(grandchild).is_some());
    child.signal(Signal::SIGKILL).unwrap();
    within(child.exited()).await;
    assert!(procfs::stat(grandchild).is_none_or(|stat| stat.is_dead()));
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_grandchild_that_left_its_session_is_dead_when_the_death_is_told() {
    let fixture = fixture("setsid");
    let script = "setsid sh -c 'echo pid $$; exec sleep 100' & wait";
    let (child, escaped) = start_telling(script, fixture.path(), fixture.run.registry()).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let (other, neighbour) = start_telling(script, elsewhere.path(), fixture.run.registry()).await;
    assert_ne!(procfs::stat(escaped).unwrap().group, child.pid());
    child.signal(Signal::SIGKILL).unwrap();
    within(child.exited()).await;
    assert!(procfs::stat(escaped).is_none_or(|stat| stat.is_dead()));
    assert!(
        procfs::stat(neighbour).is_some_and(|stat| !stat.is_dead()),
        "it came of another process"
    );
    within(other.kill()).await;
    let swept = within(fixture.run.finish()).await;
    assert_eq!(swept.killed, [""; 0]);
    assert_eq!(swept.problems, [""; 0]);
}

/// What the kernel says where it lets nobody, or not this user, have a namespace.
fn is_forbidden(error: &std::io::Error) -> bool {
    let said = error.raw_os_error().map(Errno::from_raw);
    matches!(
        said,
        Some(Errno::EPERM | Errno::ENOSPC | Errno::EINVAL | Errno::ENOSYS)
    )
}

#[tokio::test]
async fn a_namespace_takes_all_its_processes_along() {
    let fixture = fixture("namespace");
    let mut start = shell("setsid sleep 4321 & sleep 100", fixture.path());
    start.namespace = true;
    let child = match Child::start(start, fixture.run.registry()).await {
        Ok(child) => child,
        Err(StartError::Launch { source, .. }) if is_forbidden(&source) => {
            Need::Namespaces.is_missing(source);
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let below = || procfs::tree(child.pid());
    within(async {
        while below().len() < 3 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    let all = below();
    within(child.kill()).await;
    for pid in all {
        assert!(
            procfs::stat(pid).is_none_or(|stat| stat.is_dead()),
            "{pid} survived"
        );
    }
    let swept = within(fixture.run.finish()).await;
    assert_eq!(swept.killed, [""; 0]);
}

#[tokio::test]
async fn the_last_handle_takes_the_process_along() {
    let fixture = fixture("drop");
    let child = fixture.start("exec sleep 100").await;
    let (pid, exited) = (child.pid(), child.exited());
    drop(child);
    assert!(within(exited).await.is_signal(Signal::SIGKILL));
    gone(pid).await;
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let fixture = fixture("missing");
    let mut start = shell("", fixture.path());
    start.program = "target/debug/no-such-worker".into();
    let error = Child::start(start, fixture.run.registry())
        .await
        .unwrap_err();
    assert!(matches!(error, StartError::Launch { .. }));
    let expected = format!(
        "cannot start `probe-1#1`: there is no program `target/debug/no-such-worker` (looked for from {}); is it built?",
        fixture.path().display()
    );
    assert_eq!(error.to_string(), expected);
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn the_environment_is_the_allowed_and_the_given() {
    let fixture = fixture("environment");
    let mut start = shell("env; echo done", fixture.path());
    start
        .environment
        .insert("LISTEN".into(), "127.0.0.1:1".into());
    let child = Child::start(start, fixture.run.registry()).await.unwrap();
    within(child.exited()).await;
    let lines = child.logs().last_lines(100);
    assert!(lines.contains(&"LISTEN=127.0.0.1:1".to_owned()));
    assert!(lines.contains(&format!("REHEARSE_RUN_ID={}", fixture.run.id())));
    assert!(lines.iter().any(|line| line.starts_with("PATH=")));
    assert!(
        !lines.iter().any(|line| line.starts_with("CARGO")),
        "{lines:?}"
    );
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn readiness_by_output_and_by_start() {
    let fixture = fixture("ready");
    let child = fixture
        .start("echo warming up; echo listening on 1; exec sleep 100")
        .await;
    ready(
        &child,
        driver_support::LIMIT,
        driver_support::LIMIT,
        output(&child, "listening on"),
    )
    .await
    .unwrap();
    ready(
        &child,
        driver_support::LIMIT,
        driver_support::LIMIT,
        Condition::started(),
    )
    .await
    .unwrap();
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn readiness_by_http_takes_2xx_only() {
    let answering = |status: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            use std::io::{Read, Write};
            for mut client in listener.incoming().flatten() {
                let _ = client.read(&mut [0; 1024]);
                let _ = client.write_all(
                    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes(),
                );
            }
        });
        address
    };
    let fixture = fixture("http");
    let child = fixture.start("exec sleep 100").await;
    ready(
        &child,
        driver_support::LIMIT,
        driver_support::LIMIT,
        http(answering("204 No Content"), "/healthz"),
    )
    .await
    .unwrap();
    let address = answering("503 Service Unavailable");
    let late = ready(
        &child,
        Duration::from_millis(300),
        Duration::from_millis(300),
        http(address, "/healthz"),
    )
    .await
    .unwrap_err();
    let expected = format!(
        "`probe-1#1` was not ready within 300ms: expected GET http://{address}/healthz to answer 2xx, \
         saw status 503 Service Unavailable\nit wrote nothing to {}",
        fixture.path().join("probe.log").display()
    );
    assert_eq!(late.to_string(), expected);
    within(fixture.run.finish()).await;
}

#[tokio::test]
async fn a_death_before_readiness_shows_status_and_output() {
    let fixture = fixture("died");
    let child = fixture.start("echo port 8081 is in use; exit 3").await;
    let error = ready(
        &child,
        driver_support::LIMIT,
        driver_support::LIMIT,
        output(&child, "ready"),
    )
    .await
    .unwrap_err();
    assert_eq!(error.cause, Cause::Died(ExitOutcome::Code(3)));
    let expected = format!(
        "`probe-1#1` exited with code 3 before it was ready: expected a line with `ready` in its output, saw nothing\n\
         the end of its output ({}):\n  port 8081 is in use",
        fixture.path().join("probe.log").display()
    );
    assert_eq!(error.to_string(), expected);
    within(fixture.run.finish()).await;
}
