//! Histories that earlier versions wrote keep their verdicts, for ever; and what is no
//! whole history gets none.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Output};

use rehearsal::history::{self, Entry};
use rehearsal::judge::{Evidence, Judgement, Verdict, judge};
use rehearsal::manifest::Manifest;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/judge")
        .join(name)
}

fn judged(name: &str) -> Judgement {
    let manifest = Manifest::load(&fixture("rehearsal.yaml")).unwrap();
    let entries = history::read(&fixture(name)).unwrap();
    judge(Evidence {
        manifest: &manifest,
        entries: &entries,
    })
}

/// Runs the command in an empty directory: it must need nothing but the two files.
fn rehearse_judge(name: &str) -> (Output, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .arg("judge")
        .arg(fixture(name))
        .arg("--manifest")
        .arg(fixture("rehearsal.yaml"))
        .current_dir(directory.path())
        .env_clear()
        .output()
        .unwrap();
    let left = directory.path().read_dir().unwrap();
    (output, left.map(|entry| entry.unwrap().path()).collect())
}

#[test]
fn the_passed_history_of_schema_1_still_passes() {
    let judgement = judged("passed.schema-1.jsonl");
    assert_eq!(judgement.verdict, Verdict::Passed, "{judgement:?}");
    assert_eq!(judgement.faults.len(), 1);
}

#[test]
fn the_failed_history_of_schema_1_is_still_convicted_of_the_same() {
    let judgement = judged("failed.schema-1.jsonl");
    assert_eq!(judgement.verdict, Verdict::Failed);
    let broken: Vec<&str> = judgement
        .violations
        .iter()
        .map(|violation| violation.invariant)
        .collect();
    assert_eq!(
        broken,
        ["deleted only after a durable end", "nothing is lost"]
    );
}

#[test]
fn the_error_history_of_schema_1_is_still_an_error() {
    let judgement = judged("error.schema-1.jsonl");
    assert_eq!(judgement.verdict, Verdict::Error);
    assert_eq!(judgement.errors.len(), 2);
}

#[test]
fn the_unproven_history_of_schema_1_is_still_unproven() {
    let judgement = judged("unproven.schema-1.jsonl");
    assert_eq!(judgement.verdict, Verdict::Unproven);
    assert_eq!(judgement.unproven.len(), 1, "{:?}", judgement.unproven);
}

/// A new kind of entry is optional for the reader; one of these that vanishes, or
/// changes its members, raises the schema. What goes without saying may be left out.
#[test]
fn every_kind_of_entry_of_schema_1_can_be_read_and_keeps_all_its_members() {
    let mut kinds = BTreeSet::new();
    let none = Value::from("none");
    for name in ["passed", "failed", "error", "unproven"] {
        let path = fixture(&format!("{name}.schema-1.jsonl"));
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let as_written: Value = serde_json::from_str(line).unwrap();
            let entry: Entry = serde_json::from_str(line).unwrap();
            let written_now = serde_json::to_value(&entry).unwrap();
            for (member, value) in as_written.as_object().unwrap() {
                let now = written_now.get(member).unwrap_or(match member.as_str() {
                    "ok" | "deliverable" => &Value::Bool(true),
                    "attribution" => &none,
                    _ => &Value::Null,
                });
                assert_eq!(now, value, "{member} of {line}");
            }
            kinds.insert(as_written["event"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(kinds.len(), 39, "{kinds:?}");
}

#[test]
fn the_command_tells_the_verdict_by_its_exit_code_and_leaves_nothing_behind() {
    for (name, code) in [("passed", 0), ("failed", 1), ("error", 3), ("unproven", 4)] {
        let (output, left) = rehearse_judge(&format!("{name}.schema-1.jsonl"));
        assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
        assert!(left.is_empty(), "{left:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("a killed packer packs once (features/parcels.feature:7)"));
    }
}

#[test]
fn the_command_names_the_rule_and_the_entries_that_convict() {
    let (output, _) = rehearse_judge("failed.schema-1.jsonl");
    insta::assert_snapshot!("failed", String::from_utf8(output.stdout).unwrap());
}

#[test]
fn what_is_no_history_is_an_invalid_request() {
    let (output, _) = rehearse_judge("rehearsal.yaml");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("is no entry of a history"), "{text}");
    let (output, _) = rehearse_judge("missing.jsonl");
    assert_eq!(output.status.code(), Some(2));
}
