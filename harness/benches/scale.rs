//! Rehearsals of 100, 1,000 and 10,000 messages of the document service: how long they take,
//! how much memory and processor time the harness takes, how large their histories are, and
//! what a call costs as the history grows. `MESSAGES=100,1000 cargo bench --bench scale` says
//! which.
//!
//! The system is built in the release profile, too. The median of a call is that of a worker's
//! `BEGIN`, which costs the database nothing, in the thousand of them that come after the
//! 1,000th, 10,000th and 100,000th call.

#![allow(missing_docs, unreachable_pub)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints or fails"
)]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rehearsal::history::{self, Event};

const AFTER: [usize; 3] = [1_000, 10_000, 100_000];

fn main() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().unwrap();
    let wanted = std::env::var("MESSAGES").unwrap_or_else(|_| "100,1000,10000".to_owned());
    println!(
        "messages      took  harness cpu  resident   history  entries  p50 of a BEGIN after so many calls"
    );
    for count in wanted.split(',').map(|count| count.parse().unwrap()) {
        run(&root, count);
    }
}

fn run(root: &Path, count: usize) {
    let directory = tempfile::tempdir().unwrap();
    let (manifest, feature) = (
        directory.path().join("rehearsal.yaml"),
        directory.path().join("scale.feature"),
    );
    fs::write(&manifest, released(root)).unwrap();
    let scenario = format!(
        "Feature: Scale\n\n  Scenario: messages\n    Given the messages M1 to M{count}\n    When all messages are submitted\n    Then the totals are\n      | completed | {count} |\n"
    );
    fs::write(&feature, scenario).unwrap();
    let reports = directory.path().join("reports");
    let mut child = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .arg(&feature)
        .arg("--manifest")
        .arg(&manifest)
        .arg("--reports")
        .arg(&reports)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (resident, cpu) = watch(&mut child);
    assert!(
        child.wait().unwrap().success(),
        "{count} messages did not pass"
    );
    let history = history_in(&reports);
    let size = fs::metadata(&history).unwrap().len() / 1024;
    let entries = history::read(&history).unwrap();
    let took = Duration::from_micros(entries.last().unwrap().at_us);
    let medians: Vec<String> = AFTER
        .iter()
        .filter_map(|after| Some(format!("{after}: {} µs", median(&entries, *after)?)))
        .collect();
    println!(
        "{count:>8} {:>7.1} s {:>10.1} s {:>5} MiB {:>5} KiB {:>8}  {}",
        took.as_secs_f64(),
        cpu.as_secs_f64(),
        resident / 1024,
        size,
        entries.len(),
        medians.join(", ")
    );
}

/// The manifest of the document service, with the program of the release profile.
fn released(root: &Path) -> String {
    let manifest = fs::read_to_string(root.join("rehearsal.yaml")).unwrap();
    let shown = root.display();
    let build = format!(
        "cargo build --release --quiet --manifest-path {shown}/Cargo.toml --bin document-service"
    );
    let manifest = manifest
        .replace("cargo build --quiet --bin document-service", &build)
        .replace("target/debug", &format!("{shown}/target/release"))
        .replace("features/content", &format!("{shown}/features/content"));
    let lines = manifest.lines().map(|line| {
        if line.starts_with("limits:") {
            "limits: { step: 30m, scenario: 45m, quiet: 10m, build: 30m }"
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The largest resident set in KiB and the processor time of a process, until it ends.
fn watch(child: &mut Child) -> (u64, Duration) {
    let (mut resident, mut cpu) = (0, Duration::ZERO);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        let of = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id()));
        if let Ok(status) = of("status") {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let count = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            resident = count.unwrap_or(resident);
        }
        if let Ok(stat) = of("stat") {
            let fields: Vec<&str> = stat
                .rsplit(')')
                .next()
                .unwrap_or("")
                .split_whitespace()
                .collect();
            let ticks = |place: usize| {
                fields
                    .get(place)
                    .and_then(|ticks| ticks.parse::<u64>().ok())
            };
            if let (Some(user), Some(system)) = (ticks(11), ticks(12)) {
                // A tick is a hundredth of a second on every Linux that is in use.
                cpu = Duration::from_millis((user + system) * 10).max(cpu);
            }
        }
        assert!(
            begun.elapsed() < Duration::from_hours(1),
            "it takes too long"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    (resident, cpu)
}

fn history_in(reports: &Path) -> PathBuf {
    let mut runs = fs::read_dir(reports)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let run = runs.find(|path| path.is_dir()).unwrap();
    let scenarios = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    scenarios
        .map(|path| path.join("history.jsonl"))
        .find(|path| path.is_file())
        .unwrap()
}

/// The median of what a worker's `BEGIN` takes, in microseconds, after so many calls.
fn median(entries: &[history::Entry], after: usize) -> Option<u64> {
    let (mut open, mut times, mut calls) = (HashMap::new(), Vec::new(), 0);
    for entry in entries {
        match &entry.event {
            Event::Called {
                call,
                author,
                summary,
                ..
            } => {
                calls += 1;
                let by_worker = author
                    .incarnation()
                    .is_some_and(|by| by.role.as_str() == "worker");
                if calls >= after && by_worker && &**summary == "BEGIN" {
                    open.insert(*call, entry.at_us);
                }
            }
            Event::Replied { call, .. } => {
                times.extend(open.remove(call).map(|began| entry.at_us - began));
            }
            _ => {}
        }
        if times.len() >= 1_000 {
            break;
        }
    }
    times.sort_unstable();
    (times.len() >= 100).then(|| times[times.len() / 2])
}
