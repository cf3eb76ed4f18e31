//! What the real vocabulary refuses before anything is started: each mistake with its
//! place, what was probably meant, and exit 2, by `check` and by a run alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn manifest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/judge/rehearsal.yaml")
}

/// Runs the command in a directory that holds the feature alone.
fn rehearse(command: &[&str], feature: &str) -> (Output, bool) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.feature"), feature).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args(command)
        .args(["a.feature", "--manifest"])
        .arg(manifest())
        .current_dir(directory.path())
        .output()
        .unwrap();
    let started = directory.path().join("reports").exists();
    (output, started)
}

fn scenario(steps: &str) -> String {
    let steps: Vec<String> = steps
        .lines()
        .map(|line| format!("    {}", line.trim()))
        .collect();
    format!("Feature: F\n  Scenario: S\n{}\n", steps.join("\n"))
}

/// Each of these stands in what is said of the steps.
fn refused(steps: &str, told: &[&str]) {
    let feature = scenario(steps);
    for command in [&["check"][..], &[]] {
        let (output, started) = rehearse(command, &feature);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!started, "nothing is started");
        // The report breaks lines as it likes.
        let flat = said
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace(" │ ", " ");
        for part in told {
            assert!(flat.contains(part), "no `{part}` in\n{said}");
        }
    }
}

#[test]
fn a_message_that_was_never_declared() {
    refused(
        "Given the messages M1 to M3
         When all messages are submitted
         Then M7 never passed shipped",
        &[
            "M7 is not declared before this step",
            "a.feature:5",
            "did you mean `M3`?",
        ],
    );
}

#[test]
fn a_message_that_is_declared_too_late_or_waited_for_by_a_fault() {
    refused(
        "Given the packer is killed at weighing of M1 once
         And the message M1
         When all messages are submitted",
        &[
            "M1 is not declared before this step",
            "a.feature:3",
            "`Given the message M1`",
        ],
    );
}

#[test]
fn a_message_in_the_table_of_an_outage() {
    refused(
        "Given the message M1
         And the carrier hangs
         | from | handing-over of M2 |
         When all messages are submitted",
        &["M2 is not declared before this step", "a.feature:5"],
    );
}

#[test]
fn a_message_that_is_put_on_a_queue_is_declared_by_that() {
    let steps = "Given the message M1
         When all messages are submitted
         And M2 is put on the queue orders with the body \"x\"
         Then M2 never passed shipped";
    let (output, _) = rehearse(&["check"], &scenario(steps));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn totals_and_labels_that_there_are_not() {
    refused(
        "Given the message M1
         When all messages are submitted
         Then the totals are
         | tries          | 1 |
         | shipmens       | 1 |
         | tries (late)   | 0 |
         | left in queue  | x |
         | put aside (lat) | 0 |",
        &[
            "there is no total `shipmens`",
            "did you mean `shipments`?",
            "a.feature:7",
            "`tries` is not split, so nothing of it is `late`",
            "a.feature:8",
            "`x` is neither a whole number nor a range",
            "a.feature:9",
            "`put aside` has no label `lat`",
            "did you mean `put aside (late)`?",
            "a.feature:10",
        ],
    );
}

#[test]
fn what_would_be_ignored_or_could_never_hold() {
    refused(
        "Given the messages M1 to M2
         When all messages are submitted
         Then everything is quiet
         | shipments | 77 |
         And M1 was received -1 times
         And the totals are
         | shipments | 5 to 1 |
         | tries     | 1      |
         | tries     | 2      |",
        &[
            "a table stands below this step, which takes nothing there",
            "a.feature:5",
            "`-1` is no whole number",
            "`5 to 1` is neither a whole number nor a range",
            "`tries` stands twice in this table",
        ],
    );
}

#[test]
fn a_label_in_the_moment_of_an_outage() {
    refused(
        "Given the message M1
         And the carrier hangs
         | until | 1 shipments (late) |
         When all messages are submitted",
        &["`shipments` is not split", "a.feature:5"],
    );
}

#[test]
fn a_stage_of_another_process() {
    refused(
        "Given the message M1
         And the shop is killed at weighing of M1 once
         When all messages are submitted",
        &[
            "`weighing` is a stage of the packer, not of the shop",
            "a.feature:4",
            "did you mean the packer?",
        ],
    );
}

#[test]
fn a_fault_that_its_stage_cannot_have() {
    refused(
        "Given the message M1
         And the packer loses its request at weighing of M1 once
         And the packer is refused with 4o4 at handing-over of M1 once
         And the packer is heard twice at shipped of M1 once
         When all messages are submitted",
        &[
            "`weighing` is announced by the process",
            "`4o4` is no status code",
            "a database connection repeats no call",
            "a.feature:4",
            "a.feature:5",
            "a.feature:6",
        ],
    );
}

#[test]
fn a_setting_that_there_is_not() {
    refused(
        "Given the patience is 3
         And the message M1
         When all messages are submitted",
        &["unknown setting `patience`", "a.feature:3"],
    );
}

#[test]
fn a_figure_of_one_message_that_nobody_witnesses_and_a_value_that_is_not_captured() {
    refused(
        "Given the message M1
         When all messages are submitted
         Then M1 has 1 left in queue
         And put-aside of M1 carried its job id as labl",
        &[
            "`left in queue` cannot be counted for one message",
            "a.feature:5",
            "`put-aside` captures no `labl`",
            "did you mean `label`?",
        ],
    );
}
