//! Bad input and the commands that start nothing: one clear error, exit 2.

use std::fmt::Write as _;

use crate::gherkin_toy::command::Workshop;
use insta::Settings;
use rehearsal::gherkin::Exit;

const FEATURE: &str = "\
Feature: Delivery
  Background:
    Given the attempt limit is 3

  @fast
  Scenario: one
    When M1 is handled

  Scenario Outline: two
    When <messages> are handled
    Examples:
      | messages |
      | M1 to M2 |
      | M3       |
";

fn plain() -> impl Drop {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"mod\.rs:\d+:\d+", "mod.rs:PLACE");
    settings.add_filter(r"mod\.rs:\d+", "mod.rs:PLACE");
    settings.bind_to_scope()
}

/// Checks a feature that must be refused, and gives the errors.
fn refused(text: &str) -> String {
    let workshop = Workshop::new(&[("a.feature", text)]);
    let done = workshop.run(&["DIR/a.feature"]);
    assert_eq!(done.exit, Exit::Invalid, "{}{}", done.out, done.err);
    assert!(!workshop.path("reports").exists(), "nothing was started");
    assert_eq!(done.out, "");
    done.err
}

fn scenario(steps: &str) -> String {
    refused(&format!("Feature: F\n  Scenario: S\n    {steps}\n"))
}

#[test]
fn an_undefined_step_comes_with_the_nearest_phrase() {
    let _plain = plain();
    insta::assert_snapshot!(
        "undefined",
        scenario("When nothing much happens for M3 (or 4)")
    );
}

#[test]
fn an_ambiguous_step_names_both_phrases() {
    let _plain = plain();
    insta::assert_snapshot!("ambiguous", scenario("Then it is the same"));
}

#[test]
fn an_unknown_stage_comes_with_the_nearest_and_its_place() {
    let _plain = plain();
    let step = "When the worker is killed with SIGKILL at procesing of M3";
    insta::assert_snapshot!("unknown_stage", scenario(step));
}

#[test]
fn all_problems_of_a_file_are_told_at_once() {
    let _plain = plain();
    let text = "Feature: F\n  Background:\n    Given the atempt limit is 3\n  Scenario: S\n    When the worker is killed with SIGKIL at processing of M3\n    When nothing happens for 2 parsecs\n    Given M1 is handled\n  Scenario: T\n    When M1 is handled\n";
    insta::assert_snapshot!("all_problems", refused(text));
}

#[test]
fn a_complaint_about_a_whole_scenario_starts_nothing() {
    let _plain = plain();
    let steps = "Given the attempt limit is 3\n    And the attempt limit is 3";
    insta::assert_snapshot!("complaint", scenario(steps));
}

#[test]
fn a_file_that_is_no_gherkin_is_told_with_the_line() {
    let _plain = plain();
    insta::assert_snapshot!(
        "unreadable",
        scenario("Given the attempt limit is 3\n    Whan M1 is handled")
    );
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let _plain = plain();
    let workshop = Workshop::new(&[("features/a.feature", FEATURE)]);
    let mut told = String::new();
    for arguments in [
        &["--frobnicate"][..],
        &["DIR/none.feature"],
        &["chek"],
        &["DIR/rehearsal.yaml"],
        &["@DIR/none.txt"],
        &["DIR/features/a.feature:99"],
        &["DIR/features/a.feature:x"],
        &["DIR/features", "--tags", "@a @b"],
        &["DIR/features", "--name", "("],
        &["DIR/features", "--shard", "4/3"],
        &["DIR/features", "--order", "shuffled"],
        &["DIR/features", "--jobs", "0"],
        &["DIR/features", "--report", "pdf=x"],
        &["DIR/features", "--manifest", "DIR/none.yaml"],
        &["check", "DIR/features", "--manifest", "DIR/none.yaml"],
    ] {
        let done = workshop.rehearse(arguments);
        assert_eq!(done.exit, Exit::Invalid, "{arguments:?}: {}", done.err);
        assert_eq!(done.out, "");
        let _ = writeln!(told, "$ rehearse {}\n{}", arguments.join(" "), done.err);
    }
    insta::assert_snapshot!("arguments", told);
}

#[test]
fn the_list_shows_places_names_and_tags() {
    let _plain = plain();
    let workshop = Workshop::new(&[("features/a.feature", FEATURE)]);
    let done = workshop.rehearse(&["--list", "DIR/features"]);
    assert_eq!(done.exit, Exit::Passed);
    insta::assert_snapshot!("list", done.out);
}

#[test]
fn the_list_is_json_for_programs() {
    let workshop = Workshop::new(&[("features/a.feature", FEATURE)]);
    let done = workshop.rehearse(&["--list", "--format", "json", "DIR/features"]);
    let list: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(list[2]["place"], "DIR/features/a.feature:14");
    assert_eq!(list[0]["tags"][0], "fast");
    assert_eq!(workshop.rehearse(&["--format", "json"]).exit, Exit::Invalid);
}

#[test]
fn the_command_explains_itself() {
    let workshop = Workshop::new(&[]);
    let out = |arguments: &[&str]| {
        let done = workshop.rehearse(arguments);
        assert_eq!(done.exit, Exit::Passed, "{arguments:?}: {}", done.err);
        done.out
    };
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&["completions", shell]);
        assert!(script.contains("fail-fast") && script.contains("explore"));
    }
    assert!(out(&["man"]).contains(".TH rehearse 1"));
    assert!(out(&["man", "check"]).contains("rehearse\\-check"));
    assert!(out(&["help", "manifest"]).starts_with("# `rehearsal.yaml`"));
    assert!(out(&["help", "steps"]).contains("--glue"));
    assert!(out(&["help"]).contains("Exit codes:"));
    let schema: serde_json::Value = serde_json::from_str(&out(&["schema"])).unwrap();
    assert_eq!(schema["required"][0], "version");
    let done = workshop.rehearse(&["help", "chek"]);
    assert!(done.exit == Exit::Invalid && done.err.contains("did you mean `check`?"));
}

#[test]
fn the_phrases_are_glue_for_the_language_server() {
    let workshop = Workshop::new(&[]);
    let done = workshop.rehearse(&[
        "steps",
        "--glue",
        "DIR/glue",
        "--manifest",
        "DIR/rehearsal.yaml",
    ]);
    assert_eq!(done.exit, Exit::Passed, "{}", done.err);
    let glue = std::fs::read_to_string(workshop.path("glue/rehearse.steps.ts")).unwrap();
    assert!(
        glue.contains("Given('the {setting} is {int}', () => {})"),
        "{glue}"
    );
    assert!(
        glue.contains("defineParameterType({ name: 'setting', regexp: /"),
        "{glue}"
    );
    assert!(!glue.contains("name: 'int'"), "{glue}");
}

#[test]
fn phrases_are_listed_where_there_is_no_manifest() {
    let rehearse = |arguments: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rehearse"));
        let output = command
            .args(arguments)
            .current_dir(directory.path())
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, told) = rehearse(&["steps"]);
    assert_eq!(code, Some(0));
    assert!(told.contains("the {process} is killed") && told.contains("There is no manifest here"));
    assert!(
        rehearse(&["steps", "crash"])
            .1
            .contains("is killed at {stage}")
    );
    assert_eq!(rehearse(&["steps", "--manifest", "none.yaml"]).0, Some(2));
}

#[test]
fn the_vocabulary_is_listed_for_people_and_programs() {
    let _plain = plain();
    let workshop = Workshop::new(&[]);
    let done = workshop.rehearse(&["steps", "--manifest", "DIR/rehearsal.yaml"]);
    insta::assert_snapshot!("steps", done.out);
    let json = workshop
        .rehearse(&["steps", "--json", "--manifest", "DIR/rehearsal.yaml"])
        .out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["expression"], "the {setting} is {int}");
    assert_eq!(json[0]["kinds"][0], "given");
}

#[test]
fn a_check_starts_nothing() {
    let workshop = Workshop::new(&[("features/a.feature", FEATURE)]);
    let done = workshop.rehearse(&["check", "DIR/features", "--manifest", "DIR/rehearsal.yaml"]);
    assert_eq!(done.exit, Exit::Passed, "{}", done.err);
    assert_eq!(
        done.out,
        "nothing wrong: DIR/rehearsal.yaml, 1 feature, 3 scenarios, 6 steps\n"
    );
}

#[test]
fn the_help_documents_the_exit_codes() {
    let _plain = plain();
    let done = Workshop::new(&[]).rehearse(&["--help"]);
    assert_eq!(done.exit, Exit::Passed);
    insta::assert_snapshot!("help", done.out);
}

#[test]
fn the_real_binary_maps_to_the_same_codes() {
    let rehearse = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rehearse"));
        let output = command.args(arguments).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    assert_eq!(rehearse(&["--help"]).0, Some(0));
    let (code, told) = rehearse(&["--frobnicate"]);
    assert!(code == Some(2) && told.contains("--frobnicate"), "{told}");
    let (code, told) = rehearse(&["no/such.feature"]);
    assert!(
        code == Some(2) && told.contains("`no/such.feature` does not exist"),
        "{told}"
    );
}
