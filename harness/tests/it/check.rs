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
            "`-1` is no figure",
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

#[test]
fn a_scenario_that_submits_nothing() {
    refused(
        "Given the messages M1 to M3
         When the system is running
         Then everything is quiet",
        &["the scenario submits nothing", "a.feature:2"],
    );
}

#[test]
fn a_scenario_that_declares_nothing_to_submit() {
    refused(
        "When all messages are submitted
         Then everything is quiet",
        &[
            "there is no message to submit",
            "a.feature:3",
            "`Given the messages M1 to M5`",
        ],
    );
}

#[test]
fn what_a_dependency_cannot_answer_and_what_is_no_moment() {
    refused(
        "Given the message M1
         And the carrier answers 99
         And the carrier answers 2000
         And the carrier hangs
         | until | 5 |
         When all messages are submitted",
        &[
            "a.feature:4",
            "a.feature:5",
            "write 200 to 599",
            "`5` is neither a stage nor a total",
            "a time is written `2s`, a count `5 calls`",
        ],
    );
}

/// A feature file that is refused before its steps are looked at.
fn unreadable(feature: &str, told: &[&str]) {
    let (output, started) = rehearse(&["check"], feature);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!started);
    for part in told {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
}

#[test]
fn headings_rows_and_texts_that_are_not_whole() {
    unreadable(
        "Feature: F\n  Scenaro: S\n    Given the message M1\n",
        &["a.feature:2", "write `Scenario: …`"],
    );
    unreadable(
        "Feature: F\n  Scenario: S\n    Then the totals are\n      | tries | 3\n",
        &["a.feature:4", "end each row of a table with `|`"],
    );
    unreadable(
        "Feature: F\n  Scenario: S\n    Given the message M1\n      \"\"\"\n      text\n",
        &["a.feature:4", "is never closed"],
    );
    unreadable(
        "Feature: F\n  Scenario: S\n    Given the message M1\nFeature: G\n",
        &["a.feature:4", "a file of its own"],
    );
}

#[test]
fn a_tag_near_one_with_a_meaning() {
    for tag in ["container", "Containers", "proceses"] {
        let steps = scenario("Given the message M1\nWhen all messages are submitted");
        let feature = steps.replace("  Scenario", &format!("  @slow @{tag}\n  Scenario"));
        let (output, started) = rehearse(&["check"], &feature);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!started);
        assert!(
            said.contains(&format!("the tag `@{tag}` means nothing here")),
            "{said}"
        );
        assert!(
            said.contains("a.feature:2:3") && !said.contains("@slow`"),
            "{said}"
        );
    }
}

#[test]
fn instances_that_there_are_not_or_cannot_be() {
    refused(
        "Given the message M1
         And 10001 instances of the packer run
         And the carrier hangs
         | of | shop-3 |
         When all messages are submitted
         And the shop-2 is killed",
        &[
            "10001 instances cannot run",
            "write a number from 0 to 100",
            "there is no `shop-3`",
            "a.feature:6",
            "there is no `shop-2`",
        ],
    );
}

#[test]
fn all_rows_of_an_outage_at_once() {
    refused(
        "Given the message M1
         And the carrier hangs
         | frm            | shipped of M1 |
         | for            | all           |
         | one message in | none          |
         | if             | it rains      |
         When all messages are submitted",
        &[
            "an outage has no `frm`",
            "`all` names no messages",
            "`none` is no count",
            "an outage has no condition `it rains`",
        ],
    );
}

#[test]
fn a_star_continues_the_step_before_it() {
    let steps = "* the message M1
         When all messages are submitted
         * everything is quiet";
    let (output, _) = rehearse(&["check"], &scenario(steps));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// A system of a database and nothing that runs.
const BOOKS: &str = "\
version: 1
name: books
dependencies:
  database: { protocol: postgres, provide: embedded }
  queue: { protocol: sqs, provide: embedded, queues: { orders: {} } }
processes:
  packer:
    command: packer
    consumes: queue/orders
    environment: { DATABASE_URL: \"${database.url}\", QUEUE: \"${queue.orders.url}\" }
messages:
  submit: { queue: queue/orders, body: { id: \"${message.key}\" } }
totals:
  parcels:
    claim:
      dependency: database
      query: >-
        select count(*)
        from pg_class
        where relname = 'parcels'
observations:
  state: { dependency: database, query: \"select relname from pg_class where relname = $1\" }
";

/// Checks a manifest in a directory of its own, with a scenario.
fn checked(manifest: &str, options: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("rehearsal.yaml"), manifest).unwrap();
    let feature = scenario("Given the message M1\nWhen all messages are submitted");
    fs::create_dir_all(directory.path().join("features/deep")).unwrap();
    fs::write(directory.path().join("features/a.feature"), feature).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_rehearse"))
        .arg("check")
        .args(options)
        .current_dir(directory.path().join("features/deep"))
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn queries_are_looked_at_by_a_prepared_database_with_their_line() {
    let (code, said) = checked(BOOKS, &[]);
    assert_eq!(code, Some(0), "{said}");
    if said.contains("no database looked at") {
        // Told where a server is needed: without one the rest is static.
        return;
    }
    assert!(said.contains("2 queries"), "{said}");
    // What a table is that nothing prepared, the processes may make.
    let (code, said) = checked(&BOOKS.replace("from pg_class", "from parcels"), &[]);
    assert_eq!(code, Some(0), "{said}");
    let prepared = BOOKS
        .replace("from pg_class", "from parcels")
        .replace("processes:", "prepare: [\"true\"]\nprocesses:");
    let (code, said) = checked(&prepared, &[]);
    assert!(
        code == Some(2) && said.contains("\"parcels\" does not exist"),
        "{said}"
    );
    let wrong = BOOKS
        .replace("where relname = 'parcels'", "where relnam = 'parcels'")
        .replace("select relname from", "select relname, oid from");
    let (code, said) = checked(&wrong, &[]);
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "has 2 mistakes",
        "column \"relnam\" does not exist",
        "rehearsal.yaml:20:15",
        "gives 2 columns (name, oid), and one column is wanted",
        "rehearsal.yaml:22",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    let (code, said) = checked(&wrong, &["--static"]);
    assert!(
        code == Some(0) && said.contains("no database looked at"),
        "{said}"
    );
}

#[test]
fn what_a_query_cannot_be_is_found_without_a_database() {
    let wrong = BOOKS.replace("select count(*)", "delete from x; select count(*");
    let (code, said) = checked(&wrong, &["--static"]);
    assert!(
        code == Some(2) && said.contains("holds 2 statements"),
        "{said}"
    );
}

#[test]
fn a_slip_at_the_top_is_one_mistake() {
    for key in [
        "dependencies:",
        "processes:",
        "messages:",
        "version:",
        "name:",
        "totals:",
    ] {
        let slip = format!("{}{}", &key[..3], &key[4..]);
        let wrong = BOOKS.replacen(&format!("\n{key}"), &format!("\n{slip}"), 1);
        let wrong = if key == "version:" {
            BOOKS.replacen(key, &slip, 1)
        } else {
            wrong
        };
        let (code, said) = checked(&wrong, &["--static"]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("has a mistake"), "{slip}: {said}");
        let meant = key.trim_end_matches(':');
        assert!(
            said.contains(&format!("did you mean `{meant}`?")),
            "{slip}: {said}"
        );
    }
}

#[test]
fn what_nothing_uses_is_remarked_and_setting_it_is_a_mistake() {
    let idle = BOOKS
        .replace(
            "  queue: {",
            "  spare: { protocol: http, provide: stub, routes: [{ on: GET /x }] }\n  queue: {",
        )
        .replace("    consumes: queue/orders\n", "")
        .replace(
            "messages:",
            "settings:\n  patience: { default: 3 }\nmessages:",
        );
    let (code, said) = checked(&idle, &["--static"]);
    assert_eq!(code, Some(0), "{said}");
    for part in [
        "nothing uses the setting `patience`",
        "no process is given the address of `spare`",
        "no process `consumes` `queue/orders`",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}

#[test]
fn attributes_of_queues_that_no_service_takes() {
    let queue = "{ orders: { attributes: { VisibilityTimeout: 30s, DelaySeconds: 901 }, dead_letter: { queue: dead, max_receives: ten } }, dead: {} }";
    let (code, said) = checked(&BOOKS.replace("{ orders: {} }", queue), &["--static"]);
    assert_eq!(code, Some(2), "{said}");
    for part in [
        "has 3 mistakes",
        "from 0 to 43200",
        "this is `30s`",
        "from 0 to 900",
        "from 1 to 1000",
        "this is `ten`",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}

#[test]
fn a_manifest_without_features_and_reports_that_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let rehearse = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_rehearse"))
            .args(arguments)
            .current_dir(directory.path())
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = rehearse(&[]);
    assert!(
        code == Some(2) && said.contains("there is neither a manifest `rehearsal.yaml` nor"),
        "{said}"
    );
    fs::write(directory.path().join("rehearsal.yaml"), BOOKS).unwrap();
    let (code, said) = rehearse(&[]);
    assert!(
        code == Some(2) && said.contains("there is no `features/`"),
        "{said}"
    );
    let feature = scenario("Given the message M1\nWhen all messages are submitted");
    fs::create_dir(directory.path().join("features")).unwrap();
    fs::write(directory.path().join("features/a.feature"), feature).unwrap();
    let (code, said) = rehearse(&["--reports", "/proc/reports"]);
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(
        said.matches("/proc/reports").count(),
        1,
        "told once: {said}"
    );
    assert!(said.contains("`--reports DIR`"), "{said}");
}
