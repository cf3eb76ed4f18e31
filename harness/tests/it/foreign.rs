//! Small systems rebuilt from public failure reports (`tests/foreign/`): each is judged as
//! its folder's `expected.json` says, by its own manifest and feature alone.
//!
//! `expected.json` gives a verdict for each variant, which the scenario's name tells
//! (`broken`, `mended`, or `other`), and what a report must say for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::python::{Programs, copy, said};

const FOREIGN: Programs = Programs {
    folder: "foreign",
    imports: "import boto3, psycopg, celery",
};

/// What one variant's scenarios must come to.
#[derive(serde::Deserialize)]
struct Expected {
    verdict: String,
    #[serde(default)]
    says: Vec<String>,
}

macro_rules! cases {
    ($($test:ident $folder:literal)*) => {
        $(#[test] fn $test() { judged_as_expected(&FOREIGN, $folder); })*

        #[test]
        fn every_folder_is_a_test() {
            every_folder_is_tested(&FOREIGN, &[$($folder),*]);
        }
    };
}

cases! {
    a_payload_outlives_its_message "payload-deleted-first"
    two_copies_in_one_bulk_insert "bulk-insert-forms"
    a_relay_keeps_each_message_somewhere "relay"
    a_publisher_that_is_woken_needs_no_timer "notify-publisher"
    what_nobody_recognises_is_an_error "misspelt-recognise"
    a_group_is_taken_in_order "fifo-group"
    queues_found_by_their_names_are_the_scenario_s_own "queues-by-name"
    a_delay_at_a_receive_comes_before_its_reply "delay-after-receive"
    a_consumer_is_patient_with_an_ill_queue "receive-without-pause"
    a_lock_goes_with_its_connection "two-faults-one-stage"
    a_broker_without_a_tap_is_asked_what_waits "unseen-broker"
    a_system_is_quicker_than_its_answer "published-before-commit"
    celery_deletes_early_unless_told_otherwise "celery-early-ack"
    a_batch_is_called_back_once "batch-callback"
    one_write_for_several_messages "digest"
    the_parts_of_a_job_are_messages_too "fan-out"
    a_long_job_keeps_its_message "no-heartbeat"
    what_is_done_is_no_dead_letter "outlived-receipt"
    what_is_redriven_may_be_done_already "redriven-and-done-again"
    an_acknowledgement_in_a_finally_loses_what_failed "ack-in-finally"
    a_row_is_sent_once_its_broker_says_so "marked-before-published"
    a_webhook_keeps_its_key "key-for-each-try"
    what_failed_of_a_batch_is_named_as_the_queue_does "batch-failures-misnamed"
    a_key_and_its_job_are_durable_together "key-before-the-job"
    an_event_is_known_by_its_own_id "told-apart-by-delivery"
    what_a_batch_did_not_delete_is_deleted_again "batch-delete-unchecked"
    rows_are_published_in_whatever_order_they_are_committed "cursor-outbox"
    what_a_worker_only_holds_outlives_it "prefetched-and-deleted"
    a_copy_that_carries_a_job_on_is_no_second_job "retry-by-republish"
}

/// Who takes messages from a queue is seen; nobody has to say it.
#[test]
fn consumers_and_ids_are_told_by_what_is_seen() {
    let unsaid = [
        ("    consumes: queue/jobs\n", ""),
        ("    database: any-bind\n", ""),
    ];
    let Some(scenarios) = run(&FOREIGN, "batch-callback", &unsaid) else {
        return;
    };
    for scenario in scenarios {
        let name = scenario["name"].as_str().unwrap();
        let wanted = if name.contains("broken") {
            "failed"
        } else {
            "passed"
        };
        assert_eq!(scenario["verdict"], wanted, "{scenario}");
    }
}

/// What may be right all the same convicts only where the manifest says so, and is told
/// unless it says that nobody looks.
#[test]
fn a_finding_is_what_the_manifest_makes_of_it() {
    let fails = "findings: { finished_dead_letter: fail }";
    for (instead, told) in [
        ("", true),
        ("findings: { finished_dead_letter: off }", false),
    ] {
        let Some(scenarios) = run(&FOREIGN, "outlived-receipt", &[(fails, instead)]) else {
            return;
        };
        for scenario in scenarios {
            assert_eq!(scenario["verdict"], "passed", "{scenario}");
            let is_broken = scenario["name"].as_str().unwrap().contains("broken");
            let warnings = scenario["warnings"].to_string();
            let says = warnings.contains("finished work is no dead letter: M1 ended");
            assert_eq!(says, is_broken && told, "{scenario}");
        }
    }
}

/// A manifest that says that nobody takes messages from a queue is held against who does.
#[test]
fn a_queue_that_nobody_consumes_is_asked_by_nobody() {
    let consumed = "second: { attributes: { VisibilityTimeout: 30 } }";
    let unconsumed = "second: { attributes: { VisibilityTimeout: 30 }, consumed: false }";
    let Some(scenarios) = run(&FOREIGN, "relay", &[(consumed, unconsumed)]) else {
        return;
    };
    for scenario in scenarios {
        assert_eq!(scenario["verdict"], "error", "{scenario}");
        let report = scenario.to_string();
        let told = "`queue/second` is said to be consumed by nobody";
        assert!(report.contains(told), "{report}");
        assert!(report.contains("the finisher asks it"), "{report}");
    }
}

/// What no place reads is not judged, and that is told.
#[test]
fn what_celery_wraps_is_an_error_where_nobody_unwraps_it() {
    let wrapped = r#"[{ body: "$ | base64 | json | $.body | base64 | json | $[0][0]" }]"#;
    let plain = "[{ body: $.headers.argsrepr }]";
    let Some(scenarios) = run(&FOREIGN, "celery-early-ack", &[(wrapped, plain)]) else {
        return;
    };
    for scenario in scenarios {
        assert_eq!(scenario["verdict"], "error", "{scenario}");
        let report = scenario.to_string();
        assert!(report.contains("base64"), "{report}");
    }
}

/// Whether the cases are all that there are.
pub(crate) fn every_folder_is_tested(programs: &Programs, cases: &[&str]) {
    let tests: BTreeSet<String> = cases.iter().map(|case| (*case).to_owned()).collect();
    let entries = fs::read_dir(programs.source()).unwrap();
    let folders = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("rehearsal.yaml").exists())
        .map(|entry| entry.file_name().into_string().unwrap());
    assert_eq!(tests, folders.collect());
}

/// The scenarios of a case as its summary has them, with some texts of its manifest replaced.
fn run(programs: &Programs, case: &str, altered: &[(&str, &str)]) -> Option<Vec<Value>> {
    let path = programs.path()?;
    let root = TempDir::new().unwrap();
    copy(&programs.source().join(case), root.path());
    for shared in ["base.py", "content.txt"] {
        let shared_by_all = programs.source().join(shared);
        if shared_by_all.exists() {
            fs::copy(shared_by_all, root.path().join(shared)).unwrap();
        }
    }
    let manifest = root.path().join("rehearsal.yaml");
    let mut text = fs::read_to_string(&manifest).unwrap();
    for (as_it_is, instead) in altered {
        assert!(text.contains(as_it_is), "{case}: {as_it_is}");
        text = text.replace(as_it_is, instead);
    }
    fs::write(manifest, text).unwrap();
    let summary = root.path().join("summary.json");
    let done = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .args(["-j", "2", "--report", "json=summary.json", "features"])
        .current_dir(root.path())
        .env("PATH", path)
        .output()
        .unwrap();
    let seen = said(&done);
    let summary = fs::read(summary).unwrap_or_else(|error| panic!("{error}\n{seen}"));
    let summary: Value = serde_json::from_slice(&summary).unwrap();
    let scenarios = summary["scenarios"].as_array().unwrap().clone();
    assert!(!scenarios.is_empty(), "{seen}");
    Some(scenarios)
}

pub(crate) fn judged_as_expected(programs: &Programs, case: &str) {
    let Some(scenarios) = run(programs, case, &[]) else {
        return;
    };
    let expected = fs::read(programs.source().join(case).join("expected.json")).unwrap();
    let expected: BTreeMap<String, Expected> = serde_json::from_slice(&expected).unwrap();
    for scenario in scenarios {
        let name = scenario["name"].as_str().unwrap();
        let variant = ["broken", "mended"]
            .into_iter()
            .find(|variant| name.contains(variant))
            .unwrap_or("other");
        let wanted = &expected[variant];
        let verdict = scenario["verdict"].as_str().unwrap();
        let report = scenario.to_string();
        assert_eq!(verdict, wanted.verdict, "{name}\n{report}");
        for text in &wanted.says {
            assert!(report.contains(text), "{name}: no `{text}` in\n{report}");
        }
    }
}
