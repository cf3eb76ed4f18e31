//! A system in another language, with other words, routes and ids, passes through its
//! manifest alone; and a rule broken in it is seen.
//!
//! Without Python and its packages the tests are skipped (see `python`).

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::python::{Programs, copy, said};

const DESK: Programs = Programs {
    folder: "python_system",
    imports: "import boto3, psycopg",
};

/// The desk, its feature included, in a directory of its own.
struct Desk {
    root: TempDir,
    path: OsString,
}

impl Desk {
    /// Nothing where Python or its packages cannot be had.
    fn new() -> Option<Self> {
        let path = DESK.path()?;
        let root = TempDir::new().unwrap();
        copy(&DESK.source(), root.path());
        Some(Self { root, path })
    }

    /// Replaces text in one of its files; it must be there.
    fn break_rule(&self, file: &str, changes: &[(&str, &str)]) {
        let file = self.root.path().join(file);
        let mut text = fs::read_to_string(&file).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{from} is not in {}", file.display());
            text = text.replace(from, to);
        }
        fs::write(file, text).unwrap();
    }

    fn rehearse(&self, selection: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(selection)
            .current_dir(self.root.path())
            .env("PATH", &self.path)
            .output()
            .unwrap()
    }
}

#[test]
fn a_system_in_python_passes_through_its_manifest_alone() {
    let Some(desk) = Desk::new() else { return };
    let done = desk.rehearse(&["--verbose"]);
    let seen = said(&done);
    assert_eq!(done.status.code(), Some(0), "{seen}");
    for (begun, patience) in [(7, 3), (9, 5), (5, 1)] {
        let totals = format!(
            "dead letters 0 · invoices 4 · left in queue 0 · outside requests 4 · \
             set aside (too many tries) 1 · tries begun {begun} · \
             tries held against an order {patience}"
        );
        assert!(seen.contains(&totals), "no `{totals}` in\n{seen}");
    }
    assert!(seen.contains("3 passed, 0 failed"), "{seen}");
}

#[test]
fn a_packer_that_counts_after_its_work_is_seen() {
    let Some(desk) = Desk::new() else { return };
    let begin = "                self.begin(this, number)\n";
    let pack = "                self.pack(this, number, article, copy[\"MessageId\"])\n";
    let after = format!("{pack}{begin}");
    desk.break_rule("desk/packer.py", &[(begin, ""), (pack, &after)]);
    let done = desk.rehearse(&["--name", "patience: 1"]);
    let seen = said(&done);
    assert_eq!(done.status.code(), Some(1), "{seen}");
    assert!(seen.contains("the totals differ"), "{seen}");
    assert!(seen.contains("0 passed, 1 failed"), "{seen}");
}

/// The rule says so by itself, whatever the feature compares.
#[test]
fn a_record_at_the_limit_that_is_cut_or_too_early_is_seen() {
    let changes = [
        (
            "reached, article, note.encode()",
            "reached, article[:-1], note.encode()",
            "the content that was kept is another",
        ),
        (
            "if failed >= LIMIT else",
            "if failed >= LIMIT - 1 else",
            "2 counted",
        ),
    ];
    for (from, to, told) in changes {
        let Some(desk) = Desk::new() else { return };
        desk.break_rule("desk/packer.py", &[(from, to)]);
        let done = desk.rehearse(&["--name", "patience: 3"]);
        let seen = said(&done);
        assert_eq!(done.status.code(), Some(1), "{seen}");
        assert!(
            seen.contains("a record at the attempt limit is true"),
            "{seen}"
        );
        assert!(seen.contains(told), "{seen}");
    }
}

/// Its own words stand in the report, once, however often it was started.
#[test]
fn a_process_that_dies_at_once_is_an_error_of_its_start_with_its_last_words() {
    let packer = ("[python3, -m, desk, packer]", "[python3, -m, disk, packer]");
    let ready = "    ready: { call: { dependency: belt, action: ReceiveMessage } }\n";
    for at_once in ["", "    ready: started\n"] {
        let Some(desk) = Desk::new() else { return };
        desk.break_rule("rehearsal.yaml", &[packer, (ready, at_once)]);
        let done = desk.rehearse(&["--name", "patience: 1"]);
        let seen = said(&done);
        assert_eq!(done.status.code(), Some(3), "{seen}");
        assert!(seen.contains("No module named disk"), "{seen}");
        assert!(seen.contains("/processes/packer-1#"), "{seen}");
        assert!(seen.matches("No module named disk").count() <= 2, "{seen}");
    }
}

#[test]
fn a_misspelt_announcement_is_told_with_its_process_and_the_nearest_stage() {
    let Some(desk) = Desk::new() else { return };
    let changes = [("announce(\"pricing\"", "announce(\"prising\"")];
    desk.break_rule("desk/packer.py", &changes);
    let done = desk.rehearse(&["--name", "patience: 1"]);
    let seen = said(&done);
    assert_ne!(done.status.code(), Some(0), "{seen}");
    let told = "the packer announced the stage `prising`, which the manifest does not know: did \
                you mean `pricing`?";
    assert!(seen.contains(told), "{seen}");
}

#[test]
fn a_stage_that_nothing_passed_is_told_with_the_calls_that_were_seen_instead() {
    let Some(desk) = Desk::new() else { return };
    desk.break_rule(
        "rehearsal.yaml",
        &[
            (
                "transaction: insert into invoices }",
                "transaction: insert into bills }",
            ),
            (
                "after: { dependency: books, transaction: insert into tries }",
                "after: { dependency: books, transaction: insert into attempts }",
            ),
        ],
    );
    let feature = "Feature: F
  Scenario: S
    Given the messages M1 to M2
    And the packer is killed at noted of M2 once
    When all messages are submitted
    Then everything is quiet
";
    let features = desk.root.path().join("features");
    for entry in fs::read_dir(&features).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    fs::write(features.join("misspelt.feature"), feature).unwrap();
    let done = desk.rehearse(&[]);
    let seen = said(&done);
    assert_eq!(done.status.code(), Some(3), "{seen}");
    let joined = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "`invoiced` (a transaction with `insert into bills`; the nearest calls to the books that were seen: ",
        "insert into invoices",
        "nobody ever passed `noted` (a transaction with `insert into attempts`); the nearest calls to the books that were seen: ",
        "insert into tries",
        "stages were passed by nobody in the whole run: ",
    ] {
        assert!(joined.contains(told), "no `{told}` in\n{seen}");
    }
}
