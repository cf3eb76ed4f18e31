//! A manifest is learnt from the system: what is missing is put in, what stands there stays.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::python::{Programs, copy, said};

const SYSTEMS: Programs = Programs {
    folder: "explore",
    imports: "import psycopg",
};

/// As a person writes it first: with a comment, in two styles, and without all that can be learnt.
const SPARSE: &str = r#"# parcels, by hand
version: 1
name: parcels
dependencies:
  database: { protocol: postgres, provide: embedded }   # our books
  queue: { protocol: sqs, provide: embedded, queues: { orders: {} } }
prepare:
  - { command: [python3, worker.py, migrate], environment: { DATABASE_URL: "${database.url}" } }
processes:
  worker:
    command: [python3, worker.py]
    environment: { DATABASE_URL: "${database.url}", ORDERS: "${queue.orders.url}", VARIANT: mended }
    ready_within: 60s
messages:
  submit: { queue: queue/orders, body: { id: "${message.key}" } }
"#;

struct System {
    root: TempDir,
    path: std::ffi::OsString,
}

impl System {
    /// Nothing where Python or its packages cannot be had.
    fn new(folder: &str) -> Option<Self> {
        let path = SYSTEMS.path()?;
        let root = TempDir::new().unwrap();
        copy(&SYSTEMS.source().join(folder), &root.path().join("system"));
        fs::copy(SYSTEMS.source().join("kit.py"), root.path().join("kit.py")).unwrap();
        Some(Self { root, path })
    }

    fn manifest(&self) -> std::path::PathBuf {
        self.root.path().join("system/rehearsal.yaml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.manifest()).unwrap()
    }

    fn rehearse(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(arguments)
            .current_dir(self.root.path().join("system"))
            .env("PATH", &self.path)
            .output()
            .unwrap()
    }

    fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let done = self.rehearse(arguments);
        let seen = said(&done);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {seen}");
        seen
    }
}

/// Whether all lines of a text stand in another one, in their order.
fn keeps(after: &str, before: &str) -> bool {
    let mut lines = after.lines();
    before.lines().all(|line| lines.any(|other| other == line))
}

#[test]
fn what_is_missing_is_put_in_and_nothing_else_is_touched() {
    let Some(system) = System::new("acknowledges-first") else {
        return;
    };
    fs::write(system.manifest(), SPARSE).unwrap();
    let seen = system.ends(0, &["record"]);
    assert!(
        seen.contains("`--write` puts this into the manifest"),
        "{seen}"
    );
    assert_eq!(system.text(), SPARSE);
    system.ends(0, &["record", "--write"]);
    let written = system.text();
    assert!(keeps(&written, SPARSE), "{written}");
    for line in [
        "    database: any-bind",
        "    queue: [{ body: $.id }]",
        "    consumes: queue/orders",
        "  received: { process: worker, after: { dependency: queue, action: ReceiveMessage, queue: orders } }",
        "  insert into parcels: { process: worker, after: { dependency: database, transaction: insert into parcels } }",
        "  done: { stage: insert into parcels }",
    ] {
        assert!(written.contains(line), "no `{line}` in {written}");
    }
    let checked = system.ends(0, &["check"]);
    assert!(!checked.contains("warning"), "{checked}");
    let again = system.ends(0, &["record", "--write"]);
    assert!(
        again.contains("lacks nothing that can be learnt"),
        "{again}"
    );
    assert_eq!(system.text(), written);
    let explored = system.ends(0, &["explore"]);
    assert!(explored.contains("coverage 100 %"), "{explored}");
    // What was learnt from the right one convicts the other without any fault.
    let broken = written.replace("VARIANT: mended", "VARIANT: broken");
    fs::write(system.manifest(), broken).unwrap();
    let found = system.ends(1, &["explore"]);
    assert!(
        found.contains("deleted only after a durable end"),
        "{found}"
    );
}

#[test]
fn the_routes_of_a_service_and_the_key_that_it_gets_are_learnt() {
    let Some(system) = System::new("calls-without-a-key") else {
        return;
    };
    fs::remove_file(system.manifest()).unwrap();
    let arguments = [
        "init",
        "--process",
        "worker=python3 worker.py",
        "--queue",
        "sqs:orders",
        "--database",
        "postgres",
        "--outside",
        "partner",
        "--prepare",
        "python3 worker.py migrate",
        "--env",
        "VARIANT=broken",
    ];
    let seen = system.ends(0, &arguments);
    let text = system.text();
    assert!(text.contains("on: POST /labels, write: true"), "{text}");
    assert!(text.contains("PARTNER: \"${partner.url}\""), "{text}");
    assert!(text.contains("ORDERS: \"${queue.orders.url}\""), "{text}");
    assert!(
        text.contains("partner: [{ body: $.order }]"),
        "{text}{seen}"
    );
    let found = system.ends(1, &["explore"]);
    assert!(found.contains("after \"POST /labels\" of M1"), "{found}");
    let refused = system.ends(2, &arguments);
    assert!(refused.contains("is there already"), "{refused}");
    assert_eq!(system.text(), text);
}

#[test]
fn what_cannot_be_made_a_manifest_of_says_what_is_missing() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(arguments)
            .current_dir(directory.path())
            .output()
            .unwrap();
        (done.status.code(), said(&done))
    };
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write(
        "rabbit.yaml",
        "services: { broker: { image: 'rabbitmq:4' } }",
    );
    write(
        "unset.yaml",
        "services: { app: { image: '${IMAGE:?which}' } }",
    );
    write("none.yaml", "version: 1");
    write(
        "extends.yaml",
        "services: { app: { extends: { file: x.yaml } } }",
    );
    write(
        "absent.yaml",
        "services: { app: { image: no-such-image-here } }",
    );
    for (arguments, told) in [
        (&["init"][..], "what does the system consist of?"),
        (&["init", "--process", "worker"], "has no command"),
        (
            &["init", "--process", "worker=python3 w.py"],
            "what does the system talk to?",
        ),
        (
            &["init", "--process", "w=x", "--queue", "kafka"],
            "known: sqs, redis",
        ),
        (
            &["init", "--process", "w=x", "--queue", "sqs:a,b"],
            "how does a message come in?",
        ),
        (&["init", "--from", "nowhere.yaml"], "nowhere.yaml"),
        (&["init", "--from", "rabbit.yaml"], "is RabbitMQ"),
        (
            &["init", "--from", "unset.yaml"],
            "$IMAGE must be set: which",
        ),
        (&["init", "--from", "none.yaml"], "has no `services`"),
        (&["init", "--from", "extends.yaml"], "docker compose config"),
        (&["init", "--from", "absent.yaml"], "what does `app` start?"),
        (&["record"], "`rehearse init` makes one"),
    ] {
        let (code, seen) = run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {seen}");
        assert!(seen.contains(told), "no `{told}` in {seen}");
    }
    assert!(!Path::new(&directory.path().join("rehearsal.yaml")).exists());
}
