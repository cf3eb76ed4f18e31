//! Ctrl-C against a real process: steps end, worlds are closed, reports are complete,
//! exit 130.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::gherkin_toy::command::Workshop;
use crate::gherkin_toy::{Diary, ToyProject};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rehearsal::cli::{self, Application, Surroundings};
use rehearsal::deployment::{RunError, RunGuard};
use rehearsal::embedded::database::Search;
use rehearsal::gherkin::{Limits, StepError};

const DIRECTORY: &str = "REHEARSAL_TOY_DIRECTORY";

struct Patient(Arc<Diary>);

impl Application for Patient {
    type Project = ToyProject;

    fn load(&self, _: &Path) -> Result<ToyProject, miette::Report> {
        let hour = Duration::from_hours(1);
        let limits = Limits {
            step: hour,
            scenario: hour,
            close: hour,
            grace: Duration::from_secs(2),
        };
        Ok(ToyProject {
            diary: Arc::clone(&self.0),
            ill: false,
            limits,
        })
    }

    fn begin_serving(&self) -> Result<(RunGuard, Search), RunError> {
        unreachable!("these tests serve no database")
    }

    fn clean(&self, _: &mut dyn FnMut(&str)) -> Result<(), StepError> {
        Ok(())
    }
}

/// Not a test: the process that the tests below interrupt.
#[test]
#[ignore = "started by the other tests"]
fn toy_process() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    let diary = Diary {
        file: Some(Path::new(&directory).join("diary")),
        ..Diary::default()
    };
    let mut surroundings = Surroundings::of_process().unwrap();
    let arguments = [
        "rehearse",
        &format!("{directory}/a.feature"),
        "--reports",
        &format!("{directory}/reports"),
    ];
    let exit = cli::main(
        &Patient(Arc::new(diary)),
        arguments.map(Into::into),
        &mut surroundings,
    );
    std::process::exit(exit.code().into());
}

fn start(workshop: &Workshop) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "cli_interrupt::toy_process",
            "--ignored",
            "--nocapture",
        ])
        .env(DIRECTORY, workshop.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines.map(Result::unwrap))
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
}

/// Waits until the diary has this line.
fn await_diary(workshop: &Workshop, line: &str) {
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    while std::time::Instant::now() < deadline {
        let diary = std::fs::read_to_string(workshop.path("diary")).unwrap_or_default();
        if diary.lines().any(|written| written == line) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the diary never said `{line}`");
}

#[test]
fn a_signal_closes_the_world_completes_the_reports_and_exits_130() {
    for sent in [Signal::SIGINT, Signal::SIGTERM] {
        let feature = "Feature: F\n  Scenario: S\n    When nothing happens for 1 hour\n";
        let workshop = Workshop::new(&[("a.feature", feature)]);
        let (mut child, lines) = start(&workshop);
        await_diary(&workshop, "open S");
        signal(&child, sent);
        let printed: Vec<String> = lines.collect();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{printed:?}");
        await_diary(&workshop, "close S interrupted");
        await_diary(&workshop, "finish");
        assert!(
            printed.iter().any(|line| line == "0 passed, 1 failed"),
            "{printed:?}"
        );
        assert!(workshop.report("junit.xml").contains("interrupted in step"));
        assert!(workshop.report("summary.json").contains("\"code\": 130"));
    }
}

#[test]
fn a_second_signal_waits_for_no_closing() {
    let feature = "Feature: F\n  Scenario: S\n    When the closing takes 1 hour\n    And nothing happens for 1 hour\n";
    let workshop = Workshop::new(&[("a.feature", feature)]);
    let (mut child, mut lines) = start(&workshop);
    await_diary(&workshop, "open S");
    signal(&child, Signal::SIGINT);
    assert!(lines.any(|line| line.starts_with("interrupted:")));
    signal(&child, Signal::SIGINT);
    let printed: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{printed:?}");
    assert!(workshop.report("summary.json").contains("\"code\": 130"));
    let diary = std::fs::read_to_string(workshop.path("diary")).unwrap();
    assert!(!diary.contains("close"), "{diary}");
}

#[test]
fn a_served_queue_says_where_it_is_and_ends_well() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args(["serve", "queue", "--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(
        line.starts_with("queue server ready: http://127.0.0.1:"),
        "{line}"
    );
    signal(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
