//! Errors are told in words: address, cause, how to mend it, and never the inside of a value.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;
use tempfile::TempDir;

const FEATURE: &str = "\
Feature: F
  Scenario: S
    Given the messages M1 to M2
    When all messages are submitted
  Scenario: T
    Given the messages M1 to M2
    When all messages are submitted
";

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
    fs::write(root.path().join("a.feature"), FEATURE).unwrap();
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
        "{ protocol: redis, provide: external, url: \"redis://:s3cret@ADDRESS/3\" }",
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

#[test]
fn a_consumer_that_goes_round_its_queue_is_told_which_address_it_never_used() {
    let root = TempDir::new().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge");
    fs::copy(fixtures.join("plain.txt"), root.path().join("plain.txt")).unwrap();
    let manifest = fs::read_to_string(fixtures.join("idle.yaml")).unwrap();
    let worker = "processes:\n  worker:\n    command: [sleep, \"600\"]\n    environment: { ORDERS: \"${queue.orders.url}\" }\n    consumes: queue/orders\n    ready_within: 1s\n";
    let manifest = manifest.replacen("processes:\n", worker, 1);
    fs::write(root.path().join("rehearsal.yaml"), manifest).unwrap();
    fs::write(root.path().join("a.feature"), FEATURE).unwrap();
    let done = rehearse(root.path());
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(3), "{told}");
    assert!(
        told.contains("`worker-1#1` was not ready within 1s"),
        "{told}"
    );
    assert!(
        told.contains("never connected to `queue` (ORDERS)"),
        "{told}"
    );
    assert_eq!(
        told.matches("(the same as in a.feature:").count(),
        1,
        "{told}"
    );
    assert!(told.contains("what led there"), "{told}");
    assert!(told.contains("history: "), "{told}");
}

#[test]
fn what_takes_a_connection_and_says_nothing_is_told_within_a_limit() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let dependencies = [
        "{ protocol: postgres, provide: external, url: \"postgres://me:s3cret@ADDRESS/app\" }",
        "{ protocol: sqs, provide: external, url: \"http://ADDRESS\", queues: { orders: {} } }",
    ];
    let runs = dependencies.map(|dependency| {
        let address = address.clone();
        std::thread::spawn(move || {
            let (root, _) = with_external(&dependency.replace("ADDRESS", &address));
            let done = rehearse(root.path());
            let told = String::from_utf8_lossy(&done.stdout).into_owned();
            assert_eq!(done.status.code(), Some(3), "{told}");
            assert!(told.contains(&format!("`far` at {address}")), "{told}");
            assert!(told.contains("it takes the connection"), "{told}");
            assert!(!told.contains("s3cret"), "{told}");
        })
    });
    for run in runs {
        run.join().unwrap();
    }
}

/// A system with a worker that is started by this command.
fn with_worker(worker: &str) -> TempDir {
    let root = TempDir::new().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge");
    fs::copy(fixtures.join("plain.txt"), root.path().join("plain.txt")).unwrap();
    let manifest = fs::read_to_string(fixtures.join("idle.yaml")).unwrap();
    let worker = format!("processes:\n  worker:\n    {worker}\n");
    let manifest = manifest.replacen("processes:\n", &worker, 1);
    fs::write(root.path().join("rehearsal.yaml"), manifest).unwrap();
    fs::write(root.path().join("a.feature"), FEATURE).unwrap();
    root
}

#[test]
fn a_program_that_cannot_be_started_is_told_with_its_cause() {
    use std::os::unix::fs::PermissionsExt as _;
    for (mode, cause) in [
        (0o755, "names `/usr/bin/no-such-interpreter`"),
        (0o644, "`chmod +x` lets it"),
    ] {
        let root = with_worker("command: [./run.sh]");
        let script = root.path().join("run.sh");
        fs::write(&script, "#!/usr/bin/no-such-interpreter -u\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(mode)).unwrap();
        let done = rehearse(root.path());
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        assert_eq!(done.status.code(), Some(3), "{told}");
        assert!(told.contains("cannot start `worker-1#1`"), "{told}");
        assert!(told.contains(cause), "{told}");
    }
}

#[test]
fn a_process_that_answers_wrongly_is_told_by_its_answer() {
    let root = with_worker(
        "command: [python3, -c, \"import os, http.server as h; h.ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), h.SimpleHTTPRequestHandler).serve_forever()\"]\n    environment: { PORT: \"${port}\", ORDERS: \"${queue.orders.url}\" }\n    listens: true\n    ready: { http: /alife }\n    ready_within: 3s",
    );
    let done = rehearse(root.path());
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(3), "{told}");
    assert!(
        told.contains("/alife to answer 2xx, saw status 404"),
        "{told}"
    );
    assert!(!told.contains("never connected"), "{told}");
}
