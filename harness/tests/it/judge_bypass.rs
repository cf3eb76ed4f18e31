//! Whoever reaches a dependency past the taps makes the verdict an error: of what was
//! done there nothing was witnessed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rehearsal::deployment::Reexecute;
use rehearsal::embedded::database::Search;
use rehearsal::ids::RunId;
use rehearsal::judge::{Judgement, Verdict};
use rehearsal::manifest::Manifest;
use rehearsal::rehearsal::{Plan, Rehearsal, Title, Venue, VenueError, VenueOptions};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{Connection as _, Executor as _};

use crate::needs;

fn idle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge/idle.yaml")
}

/// Rehearses nothing, while `meanwhile` is done with the place of the run's logs. None
/// where there is no container engine and one is needed.
async fn rehearse(
    run: &str,
    manifest: &Path,
    meanwhile: impl AsyncFnOnce(&Path),
) -> Option<Judgement> {
    let directory = tempfile::tempdir().unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_rehearse"));
    let ambient = std::env::vars_os().collect();
    let options = VenueOptions {
        built: false,
        driver: None,
        run: RunId::new(run),
        directory: directory.path().join("reports"),
        state_root: directory.path().join("state"),
        database: Search::from_variables(&ambient),
        ambient,
        watchdog: Reexecute {
            program: program.clone(),
            arguments: vec!["__watchdog".into()],
        },
        program,
    };
    let manifest = Arc::new(Manifest::load(manifest).unwrap());
    let opened = Venue::open(manifest, options, Arc::new(|_: &str| {})).await;
    let venue = match opened {
        Ok(venue) => Arc::new(venue),
        Err(VenueError::Engine(reason)) => {
            needs::of_engine::<()>(Err(reason));
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let title = Title {
        run: run.to_owned(),
        scenario: "nothing happens".to_owned(),
        place: "nowhere:1".to_owned(),
        seed: 1,
        real_time: false,
    };
    let place = directory.path().join("scenario");
    let rehearsal = Rehearsal::start(&venue, &Plan::default(), &title, place).await;
    let mut rehearsal = rehearsal.unwrap();
    meanwhile(&directory.path().join("reports/logs")).await;
    rehearsal.end().await;
    let judgement = rehearsal.judgement();
    venue.close().await;
    Some(judgement)
}

/// The embedded queue server's address, as its log tells it.
fn queue_server(logs: &Path) -> String {
    let said = std::fs::read_to_string(logs.join("queue.log")).unwrap();
    let address = said
        .split_whitespace()
        .find(|word| word.starts_with("http://127.0.0.1:"));
    address.unwrap().trim_end_matches('/').to_owned()
}

async fn send(address: &str, queue: &str) {
    let body = serde_json::json!({
        "QueueUrl": format!("{address}/000000000000/{queue}"),
        "MessageBody": "{}",
    });
    let sent = reqwest::Client::new()
        .post(address)
        .header("x-amz-target", "AmazonSQS.SendMessage")
        .header("content-type", "application/x-amz-json-1.0")
        .body(body.to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(sent.status(), 200, "{}", sent.text().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_past_the_taps_is_an_error() {
    let manifest = idle();
    let judgement = rehearse("bypass-1", &manifest, async |logs| {
        send(&queue_server(logs), "bypass-1-1-orders").await;
    });
    let judgement = judgement.await.unwrap();
    assert_eq!(judgement.verdict, Verdict::Error, "{judgement:?}");
    assert!(
        judgement.errors[0]
            .text
            .starts_with("`queue` was reached past the taps, from port "),
        "{:?}",
        judgement.errors
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_harness_s_own_calls_are_no_error() {
    let judgement = rehearse("bypass-2", &idle(), async |_| {}).await.unwrap();
    assert_eq!(judgement.errors, []);
    assert_eq!(judgement.verdict, Verdict::Unproven);
}

/// The same system with a database and a queue in containers.
fn contained() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(idle()).unwrap();
    let queue = "queue: { protocol: sqs, provide: embedded,";
    let both = "database: { protocol: postgres, provide: container }\n  \
                queue: { protocol: sqs, provide: container,";
    assert!(text.contains(queue));
    let text = text.replace(queue, both);
    std::fs::write(place.path().join("idle.yaml"), text).unwrap();
    let content = idle().with_file_name("plain.txt");
    std::fs::copy(content, place.path().join("plain.txt")).unwrap();
    place
}

/// Of the container of a run's dependency: its address, and a variable it has.
fn container(run: &str, dependency: &str, variable: &str) -> (String, String) {
    let docker = |words: &[&str]| {
        let done = Command::new("docker").args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let part = format!("rehearsal-{run}-dependency-{dependency}");
    let address = docker(&[
        "inspect",
        "--format",
        "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
        &format!("{part}-seat-1"),
    ]);
    let variables = docker(&[
        "inspect",
        "--format",
        "{{range .Config.Env}}{{println .}}{{end}}",
        &format!("{part}-server"),
    ]);
    let value = variables
        .lines()
        .find_map(|line| line.strip_prefix(variable)?.strip_prefix('='));
    (address, value.unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_past_the_taps_to_a_queue_in_a_container_is_an_error() {
    let place = contained();
    let manifest = place.path().join("idle.yaml");
    let judgement = rehearse("bypass-3", &manifest, async |_| {
        let (address, _) = container("bypass-3", "queue", "");
        send(&format!("http://{address}:9324"), "bypass-3-1-orders").await;
    });
    let Some(judgement) = judgement.await else {
        return;
    };
    assert_eq!(judgement.verdict, Verdict::Error, "{judgement:?}");
    assert_eq!(judgement.errors.len(), 1, "{:?}", judgement.errors);
    assert!(
        judgement.errors[0]
            .text
            .starts_with("`queue` was reached past the taps, from port "),
        "{:?}",
        judgement.errors
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_past_the_taps_to_a_database_in_a_container_is_an_error() {
    let place = contained();
    let manifest = place.path().join("idle.yaml");
    let judgement = rehearse("bypass-4", &manifest, async |_| {
        let (address, password) = container("bypass-4", "database", "POSTGRES_PASSWORD");
        let options = PgConnectOptions::new_without_pgpass()
            .host(&address)
            .username("postgres")
            .password(&password)
            .database("bypass-4-1-database");
        let mut connection = PgConnection::connect_with(&options).await.unwrap();
        connection.execute("SELECT 1").await.unwrap();
        connection.close().await.unwrap();
    });
    let Some(judgement) = judgement.await else {
        return;
    };
    assert_eq!(judgement.verdict, Verdict::Error, "{judgement:?}");
    assert_eq!(judgement.errors.len(), 1, "{:?}", judgement.errors);
    assert!(
        judgement.errors[0]
            .text
            .starts_with("`database` was reached past the taps, from port "),
        "{:?}",
        judgement.errors
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_harness_s_own_calls_to_containers_are_no_error() {
    let place = contained();
    let manifest = place.path().join("idle.yaml");
    let judgement = rehearse("bypass-5", &manifest, async |_| {});
    let Some(judgement) = judgement.await else {
        return;
    };
    assert_eq!(judgement.errors, []);
    assert_eq!(judgement.verdict, Verdict::Unproven);
}
