//! A compose file as it is becomes a manifest, and the system passes its first rehearsal.
//!
//! Needs an engine; where there is none the test says so and is skipped.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::needs;
use crate::python::{copy, said};

const FIVE: &str = "Feature: five messages

  Scenario: each is processed and told once
    Given the messages M1 to M5
    When all messages are submitted
    Then everything is quiet
    And the totals are
      | left in queue    | 0 |
      | outside requests | 5 |
    And M1 to M5 were received 1 time
";

#[test]
fn a_compose_file_in_and_a_green_rehearsal_of_five_messages_out() {
    if !needs::docker() {
        return;
    }
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_root.join("..").canonicalize().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--bin", "document-service"])
        .current_dir(&root)
        .status();
    assert!(built.unwrap().success());
    for image in ["process", "postgres"] {
        let name = format!("rehearsal/{image}:1");
        let is_there = Command::new("docker")
            .args(["image", "inspect", &name])
            .output();
        if !is_there.unwrap().status.success() {
            let made = Command::new(root.join("docker/build")).arg(image).status();
            assert!(made.unwrap().success());
        }
    }
    let place = tempfile::tempdir().unwrap();
    copy(&crate_root.join("tests/compose"), place.path());
    let before = fs::read_to_string(place.path().join("compose.yaml")).unwrap();
    let rehearse = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(arguments)
            .current_dir(place.path())
            .env("PROGRAM", root.join("target/debug/document-service"))
            .output()
            .unwrap();
        let seen = said(&done);
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {seen}");
        seen
    };
    let how = r#"POST /jobs {"document": "${message.name}"}"#;
    rehearse(&["init", "--from", "compose.yaml", "--submit", how]);
    let manifest = fs::read_to_string(place.path().join("rehearsal.yaml")).unwrap();
    assert!(
        manifest.contains("provide: container, image: \"rehearsal/postgres:1\""),
        "{manifest}"
    );
    assert!(manifest.contains("AWS_REGION: eu-central-1"), "{manifest}");
    fs::create_dir(place.path().join("features")).unwrap();
    fs::write(place.path().join("features/five.feature"), FIVE).unwrap();
    let seen = rehearse(&[]);
    assert!(seen.contains("1 passed, 0 failed"), "{seen}");
    assert_eq!(
        fs::read_to_string(place.path().join("compose.yaml")).unwrap(),
        before
    );
}
