//! Whoever reaches a dependency past the taps makes the verdict an error: of what was
//! done there nothing was witnessed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rehearsal::deployment::Reexecute;
use rehearsal::embedded::database::Search;
use rehearsal::ids::RunId;
use rehearsal::judge::{Judgement, Verdict};
use rehearsal::manifest::Manifest;
use rehearsal::rehearsal::{Plan, Rehearsal, Title, Venue, VenueOptions};

/// Rehearses nothing, while `meanwhile` is done with the address of the queue server and
/// the queue's name.
async fn rehearse(run: &str, meanwhile: impl AsyncFnOnce(&str, &str)) -> Judgement {
    let directory = tempfile::tempdir().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge/idle.yaml");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_rehearse"));
    let ambient = std::env::vars_os().collect();
    let options = VenueOptions {
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
    let manifest = Arc::new(Manifest::load(&path).unwrap());
    let venue = Venue::open(manifest, options, Arc::new(|_: &str| {})).await;
    let venue = Arc::new(venue.unwrap());
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
    let log = directory.path().join("reports/logs/queue.log");
    let said = std::fs::read_to_string(log).unwrap();
    let address = said
        .split_whitespace()
        .find(|word| word.starts_with("http://127.0.0.1:"))
        .unwrap();
    meanwhile(address.trim_end_matches('/'), &format!("{run}-1-orders")).await;
    rehearsal.end().await;
    let judgement = rehearsal.judgement();
    venue.close().await;
    judgement
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_past_the_taps_is_an_error() {
    let judgement = rehearse("bypass-1", async |address, queue| {
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
    })
    .await;
    assert_eq!(judgement.verdict, Verdict::Error, "{judgement:?}");
    assert!(
        judgement.errors[0].starts_with("`queue` was reached past the taps, from port "),
        "{:?}",
        judgement.errors
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_harness_s_own_calls_are_no_error() {
    let judgement = rehearse("bypass-2", async |_, _| {}).await;
    assert_eq!(judgement.errors, [] as [String; 0]);
    assert_eq!(judgement.verdict, Verdict::Unproven);
}
