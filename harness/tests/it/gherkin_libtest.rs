//! Scenarios as tests: what `cargo test` and `cargo nextest` get to see.

use std::path::Path;

use crate::gherkin_toy::ToyProject;
use insta::Settings;
use rehearsal::gherkin::libtest::{Target, run};
use rehearsal::gherkin::{Exit, Interrupt};

const FEATURE: &str = "\
Feature: Delivery
  Scenario: handled
    When M1 is handled

  Scenario Outline: totals
    When <messages> are handled
    Then the totals are
      | handled | 2 |
    Examples:
      | messages |
      | M1 to M2 |
      | M3       |

  @ignore
  Scenario: for another day
    Then the end is failed

  Scenario: handled
    When M2 is handled
";

fn tests(arguments: &str) -> (Exit, String) {
    let directory = tempfile::tempdir().unwrap();
    let features = directory.path().join("features");
    std::fs::create_dir_all(features.join("delivery")).unwrap();
    std::fs::write(features.join("delivery/a.feature"), FEATURE).unwrap();
    let target = Target::new("rehearsals", &features).reports(directory.path().join("reports"));
    let arguments = arguments
        .split('|')
        .filter(|word| !word.is_empty())
        .map(str::to_owned);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let project = || Ok(ToyProject::default());
    let exit = run(
        &target,
        arguments,
        project,
        &Interrupt::new(),
        &mut out,
        &mut err,
    );
    let text = String::from_utf8([out, err].concat()).unwrap();
    (
        exit,
        text.replace(Path::new(directory.path()).to_str().unwrap(), "DIR"),
    )
}

#[test]
fn a_terse_list_prints_the_tests_and_nothing_else() {
    let (exit, all) = tests("--list|--format|terse");
    assert_eq!(exit, Exit::Passed);
    assert_eq!(
        all,
        "delivery/a::handled: test\n\
         delivery/a::totals (messages: M1 to M2): test\n\
         delivery/a::totals (messages: M3): test\n\
         delivery/a::for another day: test\n\
         delivery/a::handled (line 18): test\n"
    );
    let (_, ignored) = tests("--list|--format|terse|--ignored");
    assert_eq!(ignored, "delivery/a::for another day: test\n");
}

#[test]
fn one_exact_name_runs_one_scenario() {
    let (exit, text) = tests("--exact|delivery/a::totals (messages: M1 to M2)|--nocapture");
    assert_eq!(exit, Exit::Passed);
    assert!(text.contains("running 1 test\n"), "{text}");
    assert!(
        text.contains("test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out"),
        "{text}"
    );
}

#[test]
fn a_failure_is_shown_with_its_figures_and_the_command_that_repeats_it() {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"\d+\.\d+ ?s", "TIME");
    let _bound = settings.bind_to_scope();
    let (exit, text) = tests("--skip|handled|--test-threads|1");
    assert_eq!(exit, Exit::Failed);
    insta::assert_snapshot!("libtest", text);
}

#[test]
fn a_filter_that_fits_nothing_is_no_failure() {
    let (exit, text) = tests("nobody");
    assert_eq!(exit, Exit::Passed);
    assert!(
        text.contains("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out"),
        "{text}"
    );
    assert_eq!(tests("--nope").0, Exit::Invalid);
    assert_eq!(tests("--ignored").0, Exit::Failed);
}
