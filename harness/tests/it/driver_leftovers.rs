//! Nothing is left of a run, however its harness ended.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::driver_support::{LIMIT, begin, gone, shell, start_telling, within};
use nix::sys::signal::{Signal, kill};
use rehearsal::deployment::{Child, Leftover, Pid, RegistryError, procfs, sweep};

/// Leaves its session and throws its environment away.
const HIDING: &str = "setsid env -i sh -c 'echo pid $$; exec sleep 100'";

/// A harness in mid-run: a process, one that escaped, a directory; then it waits to be
/// killed.
#[tokio::test]
#[ignore = "the part of a harness; other tests execute it"]
async fn role_harness() {
    let Some(root) = std::env::var_os("FAKE_HARNESS_ROOT") else {
        return;
    };
    let root = Path::new(&root);
    let run = begin(&root.join("state"), "fake");
    let directory = run.registry().make_directory(root, "data").unwrap();
    std::fs::write(directory.join("file"), "content").unwrap();
    let script = format!("sleep 100 & setsid sleep 100 & {HIDING} & wait");
    let (child, escaped) = start_telling(&script, root, run.registry()).await;
    let all: Vec<String> = procfs::tree(child.pid())
        .iter()
        .map(ToString::to_string)
        .collect();
    println!("\nin mid-run {escaped} {}", all.join(" "));
    std::future::pending::<()>().await;
}

struct FakeHarness {
    process: std::process::Child,
    pids: Vec<Pid>,
}

fn start_harness(root: &Path) -> FakeHarness {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "driver_leftovers::role_harness",
            "--ignored",
            "--nocapture",
        ])
        .env("FAKE_HARNESS_ROOT", root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let running = lines
        .find_map(|line| line.unwrap().strip_prefix("in mid-run ").map(str::to_owned))
        .unwrap();
    let pids: Vec<Pid> = running
        .split(' ')
        .map(|pid| Pid::from_raw(pid.parse().unwrap()))
        .collect();
    assert!(pids.len() >= 4, "{pids:?}");
    FakeHarness { process, pids }
}

impl FakeHarness {
    fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
        self.process.wait().unwrap();
    }
}

/// What is below a directory apart from the lock and the log.
fn left(root: &Path) -> Vec<String> {
    let entries = [root.to_owned(), root.join("state")];
    let names = entries
        .iter()
        .filter_map(|directory| std::fs::read_dir(directory).ok())
        .flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| !["state", "lock", "probe.log"].contains(&name.as_str()));
    names
}

async fn nothing_left(root: &Path, pids: &[Pid]) {
    for pid in pids {
        gone(*pid).await;
    }
    let begun = Instant::now();
    while !left(root).is_empty() {
        assert!(begun.elapsed() < LIMIT, "left behind: {:?}", left(root));
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_killed_harness_leaves_no_process_and_no_directory() {
    for signal in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT] {
        let root = tempfile::tempdir().unwrap();
        let mut harness = start_harness(root.path());
        assert_eq!(left(root.path()).len(), 2, "its directory and its record");
        harness.signal(signal);
        nothing_left(root.path(), &harness.pids).await;
    }
}

#[tokio::test]
async fn a_run_whose_watchdog_was_killed_too_is_swept_at_the_next_start() {
    let root = tempfile::tempdir().unwrap();
    let mut harness = start_harness(root.path());
    let harness_pid = Pid::from_raw(harness.process.id().cast_signed());
    let watchdog = procfs::processes()
        .into_iter()
        .find(|(pid, stat)| stat.parent == harness_pid && !harness.pids.contains(pid));
    kill(watchdog.unwrap().0, Signal::SIGKILL).unwrap();
    let alive = begin(&root.path().join("state"), "alive");
    let directory = alive
        .registry()
        .make_directory(root.path(), "data")
        .unwrap();
    let child = Child::start(shell("exec sleep 100", root.path()), alive.registry())
        .await
        .unwrap();

    let report = sweep(&root.path().join("state")).unwrap();
    assert_eq!(
        (report.swept.len(), report.alive.len()),
        (0, 2),
        "both are alive"
    );

    harness.signal(Signal::SIGKILL);
    let report = sweep(&root.path().join("state")).unwrap();
    assert_eq!(report.alive, [alive.id().clone()]);
    let [swept] = &report.swept[..] else {
        panic!("{report:?}")
    };
    assert_eq!(swept.problems, [""; 0]);
    assert_eq!(swept.removed.len(), 1);
    assert!(
        swept
            .killed
            .contains(&format!("escaped process ({})", harness.pids[0])),
        "{swept:?}"
    );

    assert!(
        directory.is_dir() && child.outcome().is_none(),
        "a live run is left alone"
    );
    within(alive.finish()).await;
    nothing_left(root.path(), &harness.pids).await;
}

#[tokio::test]
async fn an_orderly_end_removes_its_directories_and_kills_nothing() {
    let root = tempfile::tempdir().unwrap();
    let run = begin(&root.path().join("state"), "orderly");
    let directory = run.registry().make_directory(root.path(), "data").unwrap();
    let child = Child::start(shell("exit 0", root.path()), run.registry())
        .await
        .unwrap();
    within(child.exited()).await;
    let swept = within(run.finish()).await;
    assert_eq!(
        (swept.killed.len(), swept.removed, swept.problems.len()),
        (0, vec![directory], 0)
    );
    nothing_left(root.path(), &[]).await;
}

#[tokio::test]
async fn a_daemon_without_its_session_and_its_environment_is_found_at_the_end_and_told() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("state");
    let (run, other) = (begin(&state, "daemon"), begin(&state, "stranger"));
    let script = format!("{HIDING} & wait");
    let (child, daemon) = start_telling(&script, root.path(), run.registry()).await;
    let environment = std::fs::read(format!("/proc/{daemon}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(!environment.contains("REHEARSE"), "{environment}");

    let swept = within(other.finish()).await;
    assert_eq!(swept.killed, [""; 0], "it is another run's");
    assert!(procfs::stat(daemon).is_some_and(|stat| !stat.is_dead()));
    let swept = within(run.finish()).await;
    let told = format!("escaped process ({daemon})");
    assert!(swept.killed.contains(&told), "{:?}", swept.killed);
    nothing_left(root.path(), &[daemon, child.pid()]).await;
}

#[tokio::test]
async fn a_dropped_run_cleans_up_as_well() {
    let root = tempfile::tempdir().unwrap();
    let run = begin(&root.path().join("state"), "dropped");
    run.registry().make_directory(root.path(), "data").unwrap();
    let child = Child::start(shell("exec sleep 100", root.path()), run.registry())
        .await
        .unwrap();
    drop(run);
    assert!(within(child.exited()).await.is_signal(Signal::SIGKILL));
    nothing_left(root.path(), &[]).await;
}

#[tokio::test]
async fn a_directory_without_the_run_id_in_its_name_is_never_removed() {
    let root = tempfile::tempdir().unwrap();
    let run = begin(&root.path().join("state"), "stranger");
    let path = root.path().join("precious");
    std::fs::create_dir(&path).unwrap();
    let refused = run
        .registry()
        .register(&Leftover::Directory { path: path.clone() })
        .unwrap_err();
    assert!(matches!(refused, RegistryError::NotOurs { .. }));
    within(run.finish()).await;
    assert!(path.is_dir());
}

#[tokio::test]
async fn a_half_written_record_does_not_hinder_the_sweep() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("state");
    std::fs::create_dir_all(state.join("r-half-written")).unwrap();
    std::fs::write(state.join("r-half-written/harness"), "").unwrap();
    std::fs::write(state.join("r-half-written/leftovers"), "{\"kind\":\"direc").unwrap();
    std::fs::create_dir_all(state.join("r-without-any")).unwrap();
    let report = sweep(&state).unwrap();
    assert_eq!(report.swept.len(), 2);
    assert!(
        report.swept.iter().all(|run| run.problems.is_empty()),
        "{report:?}"
    );
    nothing_left(root.path(), &[]).await;
}
