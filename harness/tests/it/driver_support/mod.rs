//! Runs of their own for the tests of the process driver.

#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use rehearsal::deployment::{
    Child, Driver, Logs, Pid, Reexecute, Registry, RunGuard, RunOptions, Start, Variables, procfs,
};
use rehearsal::ids::RunId;

/// How long anything may take before a test gives up: a limit, never an expectation.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// The test executable in the part of the watchdog: see [`watchdog_role`].
pub(crate) fn watchdog() -> Reexecute {
    Reexecute {
        program: std::env::current_exe().unwrap(),
        arguments: [
            "--exact",
            "driver_support::role_watchdog",
            "--ignored",
            "--nocapture",
        ]
        .map(Into::into)
        .to_vec(),
    }
}

#[test]
#[ignore = "the part of the watchdog; other tests execute it"]
fn role_watchdog() {
    let directory = std::env::args_os().next_back().unwrap();
    let directory = Path::new(&directory);
    if directory.is_absolute() {
        rehearsal::deployment::guard(std::io::stdin(), directory).unwrap();
    }
}

/// A run with an id that no other test has.
pub(crate) fn begin(state_root: &Path, label: &str) -> RunGuard {
    RunGuard::begin(RunOptions {
        run: RunId::new(format!("t{}-{label}", std::process::id())),
        state_root: state_root.to_owned(),
        ambient: ambient(),
        watchdog: watchdog(),
    })
    .unwrap()
}

pub(crate) fn ambient() -> Variables {
    std::env::vars_os().collect()
}

/// `sh -c script`.
pub(crate) fn shell(script: &str, directory: &Path) -> Start {
    Start {
        name: "probe-1#1".to_owned(),
        program: PathBuf::from("sh"),
        arguments: vec!["-c".into(), script.into()],
        environment: Variables::new(),
        directory: directory.to_owned(),
        logs: Logs::together(directory.join("probe.log")),
        account: None,
        memory: None,
        namespace: false,
    }
}

/// Starts a shell that says a pid in its output, and returns that pid.
pub(crate) async fn start_telling(
    script: &str,
    directory: &Path,
    registry: &Registry,
) -> (Child, Pid) {
    let child = Child::start(shell(script, directory), registry)
        .await
        .unwrap();
    let line = within(child.logs().line_containing("pid ")).await.unwrap();
    let pid = line.trim_start_matches("pid ").trim().parse().unwrap();
    (child, Pid::from_raw(pid))
}

/// Waits for what must come: longer where the machine has more to do than it can.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    let limit = LIMIT.mul_f64(overload().clamp(1.0, 10.0));
    tokio::time::timeout(limit, future)
        .await
        .expect("took longer than the limit")
}

/// How many processes want to run for each processor.
fn overload() -> f64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse().ok());
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let processors = u32::try_from(processors).unwrap_or(u32::MAX);
    load.unwrap_or(1.0) / f64::from(processors)
}

/// Ends a run that must have nothing left to remove.
pub(crate) async fn end_orderly(driver: &dyn Driver, run: RunGuard) {
    within(driver.close()).await;
    let swept = within(run.finish()).await;
    assert_eq!(swept.killed, [""; 0]);
    assert_eq!(swept.problems, [""; 0]);
}

/// Waits until a process that is not our child is dead.
pub(crate) async fn gone(pid: Pid) {
    let started = std::time::Instant::now();
    while procfs::stat(pid).is_some_and(|stat| !stat.is_dead()) {
        assert!(started.elapsed() < LIMIT, "process {pid} is still alive");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
