//! Containers beside host processes: how long a warm deployment takes to be ready, a
//! whole five-message rehearsal, and a process from its kill to its next answer.
//!
//! `cargo bench --bench drivers` at the repository's root, after `cargo build`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rehearsal::deployment::{DriverKind, Reexecute, Variables};
use rehearsal::embedded::database::Search;
use rehearsal::gherkin::new_run_id;
use rehearsal::ids::{MessageName, RoleName};
use rehearsal::manifest::Manifest;
use rehearsal::rehearsal::{Plan, Rehearsal, Title, Venue, VenueOptions};

const ROUNDS: usize = 10;
const FIGURES: [(&str, Duration); 3] = [
    (
        "new database and three processes ready",
        Duration::from_millis(300),
    ),
    ("whole five-message rehearsal", Duration::from_secs(4)),
    ("kill, started again, answering", Duration::from_millis(200)),
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let hosts = runtime
        .block_on(measure(&root, DriverKind::Processes))
        .unwrap();
    let containers = runtime.block_on(measure(&root, DriverKind::Containers));
    println!("median (worst) of {ROUNDS} rounds on warm servers");
    let containers = match containers {
        Ok(containers) => containers,
        Err(reason) => {
            for ((name, _), host) in FIGURES.into_iter().zip(&hosts) {
                println!(
                    "{name:<40} processes {:>8.1?} ({:>8.1?})",
                    median(host),
                    host[host.len() - 1]
                );
            }
            println!("SKIPPED, containers need an engine: {reason}");
            return;
        }
    };
    for (number, (name, limit)) in FIGURES.into_iter().enumerate() {
        let (host, container) = (&hosts[number], &containers[number]);
        let ratio = median(container).as_secs_f64() / median(host).as_secs_f64();
        let within = if median(container) < limit {
            "within"
        } else {
            "OVER"
        };
        println!(
            "{name:<40} processes {:>8.1?} ({:>8.1?})  containers {:>8.1?} ({:>8.1?})  {ratio:.1} times, {within} {limit:?}",
            median(host),
            host[host.len() - 1],
            median(container),
            container[container.len() - 1],
        );
    }
}

fn median(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() / 2]
}

async fn measure(root: &Path, driver: DriverKind) -> Result<[Vec<Duration>; 3], String> {
    let manifest = Arc::new(Manifest::load(&root.join("rehearsal.yaml")).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let ambient: Variables = std::env::vars_os().collect();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_rehearse"));
    let options = VenueOptions {
        built: false,
        driver: Some(driver),
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
    let opened = Venue::open(manifest, options, Arc::new(|_: &str| {})).await;
    let venue = Arc::new(opened.map_err(|error| error.to_string())?);
    let mut figures: [Vec<Duration>; 3] = Default::default();
    // The first round makes what the others find.
    for round in 0..=ROUNDS {
        let times = rehearse(&venue, &directory.path().join(round.to_string())).await;
        if round > 0 {
            for (figure, time) in figures.iter_mut().zip(times) {
                figure.push(time);
            }
        }
    }
    let left = venue.close().await;
    assert!(left.is_empty(), "left behind: {left:?}");
    for figure in &mut figures {
        figure.sort();
    }
    Ok(figures)
}

async fn rehearse(venue: &Arc<Venue>, directory: &Path) -> [Duration; 3] {
    let mut plan = Plan::default();
    let messages: Vec<MessageName> = (1..=5).map(|n| MessageName::new(format!("M{n}"))).collect();
    for message in &messages {
        plan.declare(message, "harmless");
    }
    let title = Title {
        run: "bench".to_owned(),
        scenario: "five messages".to_owned(),
        place: "benches/drivers.rs".to_owned(),
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
    let judged = begun.elapsed();
    assert_eq!(snapshot.total("completed", None), 5);
    let api = RoleName::new("api");
    let killing = Instant::now();
    rehearsal.kill(&api).await.unwrap();
    rehearsal.start_role(&api).await.unwrap();
    let answering = killing.elapsed();
    let ending = Instant::now();
    rehearsal.end().await;
    [ready, judged + ending.elapsed(), answering]
}
