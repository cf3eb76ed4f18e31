//! The how-tos of the manifest's reference, with programs for them (`tests/how_to/`): each
//! manifest as it is printed there passes, without a fault and with a death on the way.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::python::{Programs, copy, said};

const HOW_TO: Programs = Programs {
    folder: "how_to",
    imports: "import boto3, psycopg",
};

/// How a how-to's title begins, without its article, with its manifest.
fn printed() -> Vec<(String, String)> {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manifest.md");
    let reference = fs::read_to_string(reference).unwrap();
    let sections = reference.split("\n## How to describe a ").skip(1);
    sections
        .map(|section| {
            let subject = section.split_whitespace().next().unwrap();
            let manifest = section.split("```yaml\n").nth(1).unwrap();
            let manifest = manifest.split("```").next().unwrap();
            (subject.to_lowercase(), manifest.to_owned())
        })
        .collect()
}

macro_rules! how_tos {
    ($($test:ident $subject:literal)*) => {
        $(#[test] fn $test() { passes_as_printed($subject); })*

        #[test]
        fn every_how_to_is_run() {
            let run = BTreeSet::from([$($subject.to_owned()),*]);
            assert_eq!(run, printed().into_iter().map(|(subject, _)| subject).collect());
        }
    };
}

how_tos! {
    a_relay "relay"
    a_retry_by_a_new_copy "retry"
    a_batch_callback "batch"
    a_fan_out "fan-out"
    a_system_without_a_queue "system"
    a_stub_with_a_memory "stub"
    a_service_of_your_own "service"
    a_fifo_queue "fifo"
}

fn passes_as_printed(subject: &str) {
    let Some(path) = HOW_TO.path() else { return };
    let all = printed();
    let (_, manifest) = all.iter().find(|(of, _)| of == subject).unwrap();
    let root = TempDir::new().unwrap();
    copy(&HOW_TO.source().join(subject), root.path());
    let common = HOW_TO.source().join("common.py");
    fs::copy(common, root.path().join("common.py")).unwrap();
    fs::write(root.path().join("rehearsal.yaml"), manifest).unwrap();
    let scenarios = run(root.path(), &path);
    for scenario in scenarios.as_array().unwrap() {
        assert_eq!(scenario["verdict"], "passed", "{subject}: {scenario}");
    }
}

fn run(root: &Path, path: &std::ffi::OsStr) -> Value {
    let done = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args(["-j", "2", "--report", "json=summary.json", "case.feature"])
        .current_dir(root)
        .env("PATH", path)
        .output()
        .unwrap();
    let seen = said(&done);
    let summary = fs::read(root.join("summary.json"));
    let summary = summary.unwrap_or_else(|error| panic!("{error}\n{seen}"));
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    summary["scenarios"].clone()
}
