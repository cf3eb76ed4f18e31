//! `rehearse show`: the course of a rehearsal, from its history, its folder, or its run's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::gherkin_toy::command::{Done, Workshop};
use rehearsal::gherkin::Exit;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/judge")
        .join(name)
}

fn show(arguments: &[&str]) -> Done {
    let workshop = Workshop::new(&[]);
    let history = fixture("failed.schema-1.jsonl");
    let mut all = vec!["show", history.to_str().unwrap()];
    all.extend(arguments);
    workshop.rehearse(&all)
}

#[test]
fn a_history_is_told_without_its_noise() {
    insta::with_settings!({prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("show", show(&[]).out);
    });
}

#[test]
fn the_way_of_one_message_is_its_calls_too() {
    let told = show(&["--message", "M2"]).out;
    assert!(told.contains("insert into put_aside"), "{told}");
    assert!(told.contains("with M2 in hand"), "{told}");
    assert!(told.contains("When M1 and M2 are submitted"), "{told}");
    assert!(!told.contains(" M1  "), "{told}");
}

#[test]
fn one_process_or_one_incarnation_of_it() {
    let of_all = show(&["--process", "packer-1"]).out;
    assert!(of_all.contains("packer-1#1") && of_all.contains("packer-1#3"));
    assert!(!of_all.contains("shop-1#1"), "{of_all}");
    let of_one = show(&["--process", "packer-1#3"]).out;
    assert!(!of_one.contains("packer-1#2"), "{of_one}");
}

#[test]
fn what_stands_around_an_entry_is_shown_whole() {
    let told = show(&["--around", "43"]).out;
    assert!(
        told.contains(" 43 ") && told.contains("the gate was closed"),
        "{told}"
    );
    assert!(told.contains(" 23 ") && told.contains(" 63 "), "{told}");
    assert!(!told.contains(" 22 ") && !told.contains(" 64 "), "{told}");
}

#[test]
fn what_the_history_does_not_know_is_a_mistake_with_the_nearest_name() {
    for (arguments, hint) in [
        (["--message", "M3"], "did you mean `M1`?"),
        (["--process", "paker-1"], "did you mean `packer-1`?"),
        (["--around", "4711"], "its entries are 1 to 100"),
    ] {
        let done = show(&arguments);
        assert_eq!(done.exit, Exit::Invalid);
        assert!(done.err.contains(hint), "{}", done.err);
    }
    let done = Workshop::new(&[]).rehearse(&["show", "DIR"]);
    assert_eq!(done.exit, Exit::Invalid);
    assert!(
        done.err.contains("name the folder of a run"),
        "{}",
        done.err
    );
}

/// A run's folder as it is written, with one scenario whose history is the fixture's.
fn run_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("parcels-7-a-killed-packer");
    fs::create_dir(&scenario).unwrap();
    fs::copy(
        fixture("failed.schema-1.jsonl"),
        scenario.join("history.jsonl"),
    )
    .unwrap();
    let summary = serde_json::json!({
        "version": 1, "run": "20261130-060000-abc123", "seed": 7, "state": "ended",
        "exit": "failed", "code": 1, "took": 1.5, "counts": {"failed": 1}, "evidence": [],
        "scenarios": [{
            "place": "features/parcels.feature:7", "repeat": "rehearse features/parcels.feature:7",
            "id": 0, "path": "features/parcels.feature", "feature": "Parcels", "rule": null,
            "name": "a killed packer packs once", "line": 7, "tags": [], "seed": 7,
            "verdict": "failed", "ran": true, "steps": [], "figures": [], "took": 1.5,
            "history": "elsewhere/parcels-7-a-killed-packer/history.jsonl",
            "evidence": [{
                "verdict": "failed", "message": "deleted only after a durable end",
                "entries": [63]
            }],
        }],
    });
    fs::write(folder.path().join("summary.json"), summary.to_string()).unwrap();
    folder
}

#[test]
fn a_run_or_a_scenario_is_named_by_its_folder_and_what_its_verdict_cites_is_marked() {
    let folder = run_folder();
    let of_scenario = folder.path().join("parcels-7-a-killed-packer");
    for path in [folder.path(), &of_scenario] {
        let done = Workshop::new(&[]).rehearse(&["show", path.to_str().unwrap()]);
        assert_eq!(done.exit, Exit::Passed, "{}", done.err);
        let marked: Vec<&str> = done
            .out
            .lines()
            .filter(|line| line.starts_with('▶'))
            .collect();
        assert_eq!(marked.len(), 1, "{}", done.out);
        assert!(marked[0].contains("deleted its copy"), "{marked:?}");
    }
}

#[test]
fn a_history_that_breaks_off_is_shown_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let whole = fs::read_to_string(fixture("failed.schema-1.jsonl")).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let done = Workshop::new(&[]).rehearse(&["show", path.to_str().unwrap()]);
    assert_eq!(done.exit, Exit::Passed);
    assert!(done.out.contains("it breaks off here"), "{}", done.out);
}
