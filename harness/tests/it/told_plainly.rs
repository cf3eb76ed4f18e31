//! Errors are told in words: address, cause, how to mend it, and never the inside of a value.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;
use tempfile::TempDir;

/// How Rust prints a value for its own programmers: `Name { member: …`, `Some(…`, `Err(…`.
fn dump() -> Regex {
    Regex::new(r"\b[A-Z][A-Za-z]+ \{ ?[a-z_]+:|\b(Some|Err|Ok)\(|\b[A-Z][A-Za-z]+Error\(").unwrap()
}

fn snapshots(under: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(under).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            snapshots(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "snap")
        {
            found.push(path);
        }
    }
}

#[test]
fn no_snapshot_of_a_message_holds_the_inside_of_a_value() {
    let mut paths = Vec::new();
    snapshots(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"),
        &mut paths,
    );
    assert!(paths.len() > 50, "the snapshots have moved");
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        // What comes before is insta's own.
        let told = text.splitn(3, "---").nth(2).unwrap_or(&text);
        let found = dump().find(told).map(|found| found.as_str());
        assert_eq!(found, None, "{}", path.display());
    }
    assert!(dump().is_match("ConnectorError { kind: Io, source: hyper }"));
}

/// A system whose dependency is at an address where nobody answers.
fn with_external(dependency: &str) -> (TempDir, String) {
    let root = TempDir::new().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge");
    fs::copy(fixtures.join("plain.txt"), root.path().join("plain.txt")).unwrap();
    // Taken and given back: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let manifest = fs::read_to_string(fixtures.join("idle.yaml")).unwrap();
    let external = dependency.replace("ADDRESS", &free.to_string());
    let (before, after) = manifest.split_once("dependencies:\n").unwrap();
    let manifest = format!("{before}dependencies:\n  far: {external}\n{after}");
    fs::write(root.path().join("rehearsal.yaml"), manifest).unwrap();
    let feature = "Feature: F\n  Scenario: S\n    Given the messages M1 to M2\n    When all messages are submitted\n";
    fs::write(root.path().join("a.feature"), feature).unwrap();
    (root, free.to_string())
}

fn rehearse(root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .arg("a.feature")
        .current_dir(root)
        .output()
        .unwrap()
}

#[test]
fn a_dependency_that_does_not_answer_is_told_with_its_address_the_cause_and_a_way_to_mend_it() {
    for dependency in [
        "{ protocol: postgres, provide: external, url: \"postgres://me:s3cret@ADDRESS/app\" }",
        "{ protocol: sqs, provide: external, url: \"http://ADDRESS\", queues: { orders: {} } }",
    ] {
        let (root, address) = with_external(dependency);
        let done = rehearse(root.path());
        let told = String::from_utf8_lossy(&done.stdout).into_owned()
            + &String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(3), "{told}");
        assert!(told.contains(&format!("`far` at {address}")), "{told}");
        assert!(told.contains("Connection refused"), "{told}");
        assert!(told.contains("manifest"), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
        let found = dump().find(&told).map(|found| found.as_str());
        assert_eq!(found, None, "{told}");
        let times = told.matches("Connection refused").count();
        assert_eq!(times, 1, "told once for the run:\n{told}");
    }
}
