//! How long a warm five-message rehearsal takes on host processes: fresh database,
//! queues, taps and three processes, five messages, quiet, snapshot, end.
//!
//! `cargo bench --bench scenario` at the repository's root, after `cargo build`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rehearsal::deployment::{Reexecute, Variables};
use rehearsal::embedded::database::Search;
use rehearsal::gherkin::new_run_id;
use rehearsal::ids::MessageName;
use rehearsal::manifest::Manifest;
use rehearsal::rehearsal::{Plan, Rehearsal, Title, Venue, VenueOptions};

const ROUNDS: usize = 12;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure(&root));
}

async fn measure(root: &Path) {
    let manifest = Arc::new(Manifest::load(&root.join("rehearsal.yaml")).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let ambient: Variables = std::env::vars_os().collect();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_rehearse"));
    let options = VenueOptions {
        driver: None,
        run: new_run_id(),
        directory: directory.path().to_owned(),
        state_root: directory.path().join("state"),
        database: Search::from_variables(&ambient),
        ambient,
        watchdog: Reexecute {
            program: program.clone(),
            arguments: vec!["__watchdog".into()],
        },
        program,
    };
    let tell = Arc::new(|line: &str| println!("{line}"));
    let venue = Arc::new(Venue::open(manifest, options, tell).await.unwrap());
    let mut starts = Vec::new();
    let mut wholes = Vec::new();
    for round in 0..ROUNDS {
        let (start, whole) = rehearse(&venue, &directory.path().join(round.to_string())).await;
        starts.push(start);
        wholes.push(whole);
    }
    venue.close().await;
    println!("five messages, host processes, {ROUNDS} rounds on warm servers");
    print("  deployment ready", &mut starts);
    print("  whole rehearsal ", &mut wholes);
}

async fn rehearse(venue: &Arc<Venue>, directory: &Path) -> (Duration, Duration) {
    let mut plan = Plan::default();
    let messages: Vec<MessageName> = (1..=5).map(|n| MessageName::new(format!("M{n}"))).collect();
    for message in &messages {
        plan.declare(message, "harmless");
    }
    let title = Title {
        run: "bench".to_owned(),
        scenario: "five messages".to_owned(),
        place: "benches/scenario.rs".to_owned(),
        seed: 1,
        real_time: false,
    };
    let begun = Instant::now();
    let started = Rehearsal::start(venue, &plan, &title, directory.to_owned()).await;
    let mut rehearsal = started.unwrap();
    let ready = begun.elapsed();
    for message in &messages {
        rehearsal.submit(message).await.unwrap();
    }
    let snapshot = rehearsal.snapshot().await.unwrap().unwrap();
    rehearsal.end().await;
    let whole = begun.elapsed();
    assert_eq!(snapshot.total("completed", None), 5);
    (ready, whole)
}

fn print(name: &str, times: &mut [Duration]) {
    times.sort();
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{name}  median {median:>8.1?}  worst {worst:>8.1?}");
}
