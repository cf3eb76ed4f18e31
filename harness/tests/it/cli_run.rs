//! `rehearse run` with a toy world: exit codes, what is printed, the reports.

use crate::gherkin_toy::command::Workshop;
use insta::Settings;
use rehearsal::gherkin::Exit;

const FEATURE: &str = "\
Feature: Delivery

  @fast
  Scenario: five messages
    Given the attempt limit is 3
    When M1 to M5 are handled
    Then the totals are
      | handled | 5 |

  Scenario Outline: totals
    When <messages> are handled
    Then the totals are
      | handled | <handled> |
      | left    | 0         |

    Examples:
      | messages | handled |
      | M1 to M2 | 2       |
      | M1 and M4 | 3      |

  @ill
  Scenario: no environment
    When the environment fails
    Then the end is unproven
";

fn masked() -> impl Drop {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"\d{8}-\d{6}-[0-9a-f]{6}", "RUN");
    settings.add_filter(r"\d+\.\d+ s", "TIME");
    settings.add_filter(r#"time="[^"]*""#, r#"time="TIME""#);
    settings.add_filter(r#""took": [0-9.e-]+"#, r#""took": "TIME""#);
    settings.bind_to_scope()
}

fn verdict(steps: &str) -> (Exit, u8) {
    let text = format!("Feature: F\n  Scenario: S\n    {steps}\n");
    let done = Workshop::new(&[("a.feature", &text)]).run(&["DIR/a.feature"]);
    (done.exit, done.exit.code())
}

#[test]
fn each_way_to_end_has_its_code() {
    assert_eq!(verdict("When M1 is handled"), (Exit::Passed, 0));
    assert_eq!(verdict("Then the end is failed"), (Exit::Failed, 1));
    assert_eq!(verdict("Given the concurrency is 0"), (Exit::Invalid, 2));
    assert_eq!(verdict("Given something undefined"), (Exit::Invalid, 2));
    assert_eq!(verdict("When the environment fails"), (Exit::Broken, 3));
    assert_eq!(verdict("When the harness panics"), (Exit::Broken, 3));
    assert_eq!(verdict("Then the end is unproven"), (Exit::Unproven, 4));
}

#[test]
fn a_broken_promise_outranks_a_broken_harness() {
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    assert_eq!(workshop.run(&["DIR/features"]).exit, Exit::Failed);
    assert_eq!(
        workshop
            .run(&["DIR/features", "--tags", "@ill or @fast"])
            .exit,
        Exit::Broken
    );
    assert_eq!(
        workshop.run(&["DIR/features", "--tags", "@fast"]).exit,
        Exit::Passed
    );
}

#[test]
fn the_terminal_shows_how_each_scenario_ended_and_the_totals() {
    let _masked = masked();
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let done = workshop.run(&["DIR/features/delivery.feature"]);
    insta::assert_snapshot!("terminal", done.out);
    assert_eq!(done.err, "");
}

#[test]
fn the_junit_report_has_a_case_for_each_row() {
    let _masked = masked();
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    workshop.run(&["DIR/features", "--report", "junit=DIR/own.xml"]);
    let junit = workshop.report("junit.xml");
    let own = std::fs::read_to_string(workshop.path("own.xml")).unwrap();
    assert_eq!(own.lines().count(), junit.lines().count());
    insta::assert_snapshot!("junit", junit);
}

#[test]
fn the_summary_holds_verdicts_evidence_and_figures() {
    let _masked = masked();
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    workshop.run(&["DIR/features", "--name", "M4"]);
    insta::assert_snapshot!("summary", workshop.report("summary.json"));
}

#[test]
fn what_did_not_pass_is_run_again_from_its_list() {
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let first = workshop.run(&["DIR/features"]);
    assert!(first.out.ends_with("2 passed, 2 failed\n"), "{}", first.out);
    let again = workshop.run(&["@DIR/reports/rerun.txt"]);
    assert!(again.out.ends_with("0 passed, 2 failed\n"), "{}", again.out);
}

#[test]
fn a_part_leaves_the_list_of_the_whole_as_it_is() {
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let listed = || std::fs::read_to_string(workshop.path("reports/rerun.txt")).unwrap();
    workshop.run(&[]);
    let whole = listed();
    assert_eq!(
        whole.lines().filter(|line| !line.starts_with('#')).count(),
        2
    );
    workshop.run(&["--tags", "@fast"]);
    assert_eq!(listed(), whole);
    workshop.run(&["-n", "M4"]);
    assert_eq!(listed().lines().count(), whole.lines().count());
    let mended = FEATURE.replace("M1 and M4 | 3 ", "M1 and M4 | 2 ");
    std::fs::write(workshop.path("features/delivery.feature"), mended).unwrap();
    workshop.run(&["@DIR/reports/rerun.txt", "-n", "M4"]);
    assert_eq!(listed().lines().count(), whole.lines().count() - 2);
}

#[test]
fn nothing_is_to_run_again_after_a_green_run() {
    let green = "Feature: F\n  Scenario: S\n    When M1 is handled\n";
    let workshop = Workshop::new(&[("features/a.feature", green)]);
    assert_eq!(workshop.run(&[]).exit, Exit::Passed);
    let again = workshop.run(&["@DIR/reports/rerun.txt"]);
    assert_eq!(again.exit, Exit::Passed);
    assert!(
        again.out.contains("nothing is to run again"),
        "{}",
        again.out
    );
    assert_eq!(again.err, "");
}

#[test]
fn no_further_scenario_starts_after_the_first_that_did_not_pass() {
    let scenario =
        |name: &str, end: &str| format!("  Scenario: {name}\n    Then the end is {end}\n");
    let bad: String = ["a", "b", "c"]
        .map(|name| scenario(name, "failed"))
        .concat();
    let workshop = Workshop::new(&[("features/a.feature", &format!("Feature: F\n{bad}"))]);
    for (option, last) in [
        ("--fail-fast", "0 passed, 1 failed, 2 skipped\n"),
        ("--fail-fast=2", "0 passed, 2 failed, 1 skipped\n"),
    ] {
        let done = workshop.run(&[option]);
        assert_eq!(done.exit, Exit::Failed);
        assert!(done.out.ends_with(last), "{}", done.out);
    }
    let rerun = std::fs::read_to_string(workshop.path("reports/rerun.txt")).unwrap();
    assert!(rerun.contains("# not run: c"), "{rerun}");
}

#[test]
fn repetitions_are_counted_and_none_hides_another() {
    let _masked = masked();
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let done = workshop.run(&["--repeat", "3", "-n", "totals"]);
    assert_eq!(done.exit, Exit::Failed);
    assert!(
        done.out
            .contains("totals (messages: M1 to M2, handled: 2) (3 of 3)"),
        "{}",
        done.out
    );
    let ending = done.out.split("\n\n").last().unwrap().to_owned();
    insta::assert_snapshot!("repeated", ending);
    let summary: serde_json::Value =
        serde_json::from_str(&workshop.report("summary.json")).unwrap();
    assert_eq!(summary["scenarios"][5]["repetition"], 3);
    assert_eq!(
        summary["scenarios"][0]["seed"],
        summary["scenarios"][2]["seed"]
    );
}

#[test]
fn a_quiet_run_shows_what_did_not_pass_and_how_many() {
    let _masked = masked();
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let done = workshop.run(&["-q", "-n", "M4", "-n", "five"]);
    insta::assert_snapshot!("quiet", done.out);
    assert_eq!(workshop.run(&["-q", "-v"]).exit, Exit::Invalid);
}

#[test]
fn colours_are_as_they_are_asked_for() {
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let coloured = |word: &str| {
        workshop
            .run(&["--color", word, "-t", "@fast"])
            .out
            .contains('\x1b')
    };
    assert_eq!(
        ["auto", "always", "never"].map(coloured),
        [false, true, false]
    );
}

#[test]
fn a_profile_says_what_nobody_else_does() {
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let done = workshop.run(&["--profile", "fast"]);
    assert!(done.out.ends_with("2 passed, 0 failed\n"), "{}", done.out);
    let done = workshop.run(&["--profile", "fast", "--repeat", "1"]);
    assert!(done.out.ends_with("1 passed, 0 failed\n"), "{}", done.out);
    let done = workshop.run(&["run", "--profile", "fast"]);
    assert_eq!(done.exit, Exit::Invalid, "options stand behind the command");
    let done = workshop.run(&["--profile", "fst"]);
    assert_eq!(done.exit, Exit::Invalid);
    assert!(done.err.contains("there is no profile `fst`") && done.err.contains("`fast`"));
}

#[test]
fn an_empty_place_runs_nothing_and_says_so() {
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let done = workshop.run(&["DIR/features", "--tags", "@nobody"]);
    assert_eq!(done.exit, Exit::Invalid);
    assert!(
        done.err.contains("none of 4 scenarios has these tags"),
        "{}",
        done.err
    );
    assert_eq!(done.out, "");
}

#[test]
fn a_report_that_cannot_be_written_is_the_harnesss_failure() {
    let workshop = Workshop::new(&[("features/delivery.feature", FEATURE)]);
    let request = "junit=DIR/rehearsal.yaml/junit.xml";
    let done = workshop.run(&["DIR/features", "--tags", "@fast", "--report", request]);
    assert_eq!(done.exit, Exit::Broken);
    assert!(done.err.contains("cannot write the report"), "{}", done.err);
    assert!(done.out.contains("1 passed, 0 failed"));
}
