//! Exploring small systems by manifests without stages: what is broken is found, named and
//! shown again; what is right survives at every point.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::python::{Programs, copy, said};

const SYSTEMS: Programs = Programs {
    folder: "explore",
    imports: "import psycopg",
};

/// A small system in a directory of its own.
struct System {
    root: TempDir,
    path: std::ffi::OsString,
}

impl System {
    /// Nothing where Python or its packages cannot be had.
    fn new(folder: &str, variant: &str) -> Option<Self> {
        let path = SYSTEMS.path()?;
        let root = TempDir::new().unwrap();
        copy(&SYSTEMS.source().join(folder), &root.path().join("system"));
        let kit = SYSTEMS.source().join("kit.py");
        fs::copy(kit, root.path().join("kit.py")).unwrap();
        let manifest = root.path().join("system/rehearsal.yaml");
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(
            text.lines().count() <= 30,
            "{folder} needs more than 30 lines"
        );
        assert!(!text.contains("stages:"), "{folder} names stages");
        assert!(text.contains("VARIANT: mended"), "{text}");
        let text = text.replace("VARIANT: mended", &format!("VARIANT: {variant}"));
        fs::write(manifest, text).unwrap();
        Some(Self { root, path })
    }

    fn rehearse(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(arguments)
            .current_dir(self.root.path().join("system"))
            .env("PATH", &self.path)
            .output()
            .unwrap()
    }

    /// What the latest run found at each point.
    fn outcomes(&self) -> Vec<Value> {
        let reports = self.root.path().join("system/reports");
        let mut runs: Vec<_> = fs::read_dir(reports)
            .unwrap()
            .map(|entry| entry.unwrap().path().join("points.jsonl"))
            .filter(|points| points.exists())
            .collect();
        runs.sort();
        let text = fs::read_to_string(runs.last().unwrap()).unwrap();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// The points with this mark, as `SIDE CALL`.
fn marked(outcomes: &[Value], mark: &str) -> Vec<String> {
    let marked = outcomes.iter().filter(|outcome| outcome["mark"] == mark);
    let mut places: Vec<String> = marked
        .map(|outcome| {
            let boundary = &outcome["point"]["class"]["boundary"];
            format!(
                "{} {}",
                boundary["side"].as_str().unwrap(),
                boundary["call"].as_str().unwrap()
            )
        })
        .collect();
    places.sort();
    places
}

fn found_broken(folder: &str, mark: &str, place: &str) {
    let Some(system) = System::new(folder, "broken") else {
        return;
    };
    let done = system.rehearse(&["explore"]);
    let seen = said(&done);
    assert_eq!(done.status.code(), Some(1), "{seen}");
    let outcomes = system.outcomes();
    assert_eq!(marked(&outcomes, mark), [place], "{seen}");
    assert_eq!(
        marked(&outcomes, "survived").len(),
        outcomes.len() - 1,
        "{seen}"
    );
    assert!(seen.contains("(fails again)"), "{seen}");
    assert!(seen.contains("coverage 100 %"), "{seen}");
}

fn survives(folder: &str) {
    let Some(system) = System::new(folder, "mended") else {
        return;
    };
    let done = system.rehearse(&["explore"]);
    let seen = said(&done);
    assert_eq!(done.status.code(), Some(0), "{seen}");
    let outcomes = system.outcomes();
    assert!(outcomes.len() >= 4, "{seen}");
    assert_eq!(
        marked(&outcomes, "survived").len(),
        outcomes.len(),
        "{seen}"
    );
    assert!(seen.contains("coverage 100 %"), "{seen}");
}

#[test]
fn an_acknowledgement_before_the_work_is_found() {
    found_broken("acknowledges-first", "lost", "after DeleteMessage");
}

#[test]
fn a_worker_that_acknowledges_last_survives_everywhere() {
    survives("acknowledges-first");
}

#[test]
fn an_outside_call_that_is_repeated_without_a_key_is_found() {
    found_broken("calls-without-a-key", "twice", "after POST /labels");
}

#[test]
fn an_outside_call_with_a_key_survives_everywhere() {
    survives("calls-without-a-key");
}

#[test]
fn an_outbox_that_is_marked_before_the_send_is_found() {
    found_broken(
        "marks-before-it-sends",
        "lost",
        "after commit of update outbox",
    );
}

#[test]
fn an_outbox_that_is_marked_after_the_send_survives_everywhere() {
    survives("marks-before-it-sends");
}

#[test]
fn shards_together_are_the_whole_and_a_run_goes_on_where_it_was() {
    let Some(system) = System::new("acknowledges-first", "mended") else {
        return;
    };
    for shard in ["1/2", "2/2"] {
        let done = system.rehearse(&["explore", "--shard", shard, "--reports", shard]);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    }
    let run = |shard: &str| {
        let runs = system.root.path().join("system").join(shard);
        let entry = fs::read_dir(runs).unwrap().next().unwrap().unwrap();
        entry.path().to_str().unwrap().to_owned()
    };
    let (first, second) = (run("1/2"), run("2/2"));
    let half = system.rehearse(&["merge", &first]);
    assert_eq!(half.status.code(), Some(4), "{}", said(&half));
    assert!(said(&half).contains("not tried"), "{}", said(&half));
    let merged = system.rehearse(&["merge", &first, &second]);
    assert_eq!(merged.status.code(), Some(0), "{}", said(&merged));
    assert!(
        said(&merged).contains("coverage 100 %"),
        "{}",
        said(&merged)
    );
    let resumed = system.rehearse(&["explore", "--resume", &first]);
    assert_eq!(resumed.status.code(), Some(0), "{}", said(&resumed));
    assert!(
        said(&resumed).contains("known from an earlier run"),
        "{}",
        said(&resumed)
    );
}

#[test]
fn a_release_gate_passes_what_was_accepted_and_fails_what_is_worse() {
    let Some(broken) = System::new("acknowledges-first", "broken") else {
        return;
    };
    let list = broken.root.path().join("accepted.json");
    let list = list.to_str().unwrap();
    let done = broken.rehearse(&["explore", "--accept", list]);
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    let same = broken.rehearse(&["explore", "--check", list]);
    assert_eq!(same.status.code(), Some(0), "{}", said(&same));
    let text = fs::read_to_string(list).unwrap();
    fs::write(list, text.replace("\"lost\"", "\"survived\"")).unwrap();
    let worse = broken.rehearse(&["explore", "--check", list]);
    assert_eq!(worse.status.code(), Some(1), "{}", said(&worse));
    assert!(
        said(&worse).contains("lost, accepted as survived"),
        "{}",
        said(&worse)
    );
}

#[test]
fn what_cannot_be_asked_for_is_refused_with_what_can() {
    let Some(system) = System::new("acknowledges-first", "mended") else {
        return;
    };
    for (arguments, told) in [
        (
            &["explore", "--effect", "kil"][..],
            "is no effect; known: kill",
        ),
        (&["explore", "--process", "workr"], "did you mean `worker`?"),
        (&["explore", "--of", "M2"], "the messages are M1 to M1"),
        (&["explore", "--check", "nowhere.json"], "nowhere.json"),
        (&["explore", "--resume", "nowhere"], "nowhere"),
        (&["merge", "nowhere"], "nowhere"),
    ] {
        let done = system.rehearse(arguments);
        assert_eq!(done.status.code(), Some(2), "{}", said(&done));
        assert!(said(&done).contains(told), "no `{told}` in {}", said(&done));
    }
}
