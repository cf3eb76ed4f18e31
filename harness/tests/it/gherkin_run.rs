//! The runner, with a toy world: every way to end, and that the world is closed in
//! each of them.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::gherkin_toy::ToyProject;
use rehearsal::gherkin::{
    Exit, Interrupt, Plan, Project as _, RunEvent, RunInfo, RunOptions, RunResult, Selection,
    rehearse,
};

fn plan(project: &ToyProject, feature: &str) -> Plan<crate::gherkin_toy::Toy> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("toy.feature");
    std::fs::write(&file, feature).unwrap();
    let selection = Selection {
        places: vec![file.to_str().unwrap().parse().unwrap()],
        ..Selection::default()
    };
    let scenarios = selection.pick().unwrap();
    Plan::new(&scenarios, &project.vocabulary().compile().unwrap(), 1).unwrap()
}

fn run_with(
    project: &Arc<ToyProject>,
    feature: &str,
    interrupt: &Interrupt,
    listener: &mut dyn rehearsal::gherkin::Listener,
) -> RunResult {
    let run = Arc::new(RunInfo {
        system: String::new(),
        whole: false,
        id: "run".into(),
        seed: 1,
        directory: Path::new("reports/run").to_owned(),
        real_time: false,
        driver: None,
    });
    let options = RunOptions {
        jobs: NonZeroUsize::new(4).unwrap(),
        fail_fast: None,
        limits: project.limits(),
    };
    rehearse(
        project,
        &plan(project, feature),
        &run,
        options,
        interrupt,
        listener,
    )
}

fn run(steps: &str) -> (RunResult, Vec<String>) {
    let project = Arc::new(ToyProject::default());
    let feature = format!("Feature: F\n  Scenario: S\n{steps}");
    let result = run_with(
        &project,
        &feature,
        &Interrupt::new(),
        &mut |_: &RunEvent| {},
    );
    (result, project.diary.read())
}

fn message(result: &RunResult) -> String {
    result.scenarios[0].1.cause().unwrap().message.clone()
}

#[test]
fn a_feature_runs_with_its_figures() {
    let (result, diary) = run(
        "Given the attempt limit is 3\nWhen M1 to M5 are handled\nThen the totals are\n|handled|5|\n",
    );
    assert_eq!(result.exit, Exit::Passed);
    assert_eq!(result.scenarios[0].1.figures[0].value, "5");
    assert_eq!(diary, ["prepare", "open S", "close S passed", "finish"]);
}

#[test]
fn a_broken_promise_shows_expected_and_seen() {
    let (result, diary) = run("When M1 is handled\nThen the totals are\n|handled|5|\n|left|0|\n");
    assert_eq!(result.exit, Exit::Failed);
    let evidence = result.scenarios[0].1.cause().unwrap().clone();
    assert_eq!(evidence.rows.len(), 2);
    assert!(!evidence.rows[0].agrees() && evidence.rows[1].agrees());
    assert_eq!(diary[2], "close S failed");
}

#[test]
fn an_invalid_value_an_ill_environment_and_no_proof_are_told_apart() {
    assert_eq!(run("Given the concurrency is 0\n").0.exit, Exit::Invalid);
    assert_eq!(run("When the environment fails\n").0.exit, Exit::Broken);
    let (result, diary) = run("Then the end is unproven\n");
    assert_eq!(result.exit, Exit::Unproven);
    assert_eq!(diary[2], "close S passed");
    assert_eq!(run("Then the end is failed\n").0.exit, Exit::Failed);
}

#[test]
fn a_panic_is_the_harnesss_failure_and_the_world_is_closed() {
    let (result, diary) = run("When the harness panics\nThen it is quite same\n");
    assert_eq!(result.exit, Exit::Broken);
    let message = message(&result);
    assert!(
        message.contains("a bug of ours (harness/tests/it/gherkin_toy/mod.rs:"),
        "{message}"
    );
    assert_eq!(diary[2], "close S error");
    assert_eq!(result.scenarios[0].1.steps[1].exit, None);
}

#[test]
fn a_panic_of_a_task_is_not_lost() {
    let (result, diary) = run("When a task of the harness panics\n");
    assert_eq!(result.exit, Exit::Broken);
    assert!(message(&result).contains("a bug in a task"));
    assert_eq!(diary[2], "close S error");
}

#[test]
fn a_step_that_lasts_too_long_is_ended_and_the_world_is_closed() {
    let (result, diary) = run("When nothing happens for 1 hour\n");
    assert_eq!(result.exit, Exit::Broken);
    assert_eq!(
        message(&result),
        "step `When nothing happens for 1 hour` did not end within 300ms"
    );
    assert_eq!(diary[2], "close S error");
}

#[test]
fn a_blocked_thread_is_given_up_and_the_others_go_on() {
    let project = Arc::new(ToyProject::default());
    let feature = "Feature: F\n  Scenario: blocked\n    When the thread is blocked for 1 hour\n  Scenario: other\n    When M1 is handled\n";
    let result = run_with(&project, feature, &Interrupt::new(), &mut |_: &RunEvent| {});
    assert_eq!(result.exit, Exit::Broken);
    assert!(message(&result).contains("blocks its thread"));
    assert_eq!(result.scenarios[1].1.verdict, Exit::Passed);
    assert_eq!(project.diary.read().last().unwrap(), "finish");
}

#[test]
fn a_world_that_cannot_be_opened_runs_no_step() {
    let project = Arc::new(ToyProject::default());
    let feature = "Feature: F\n  @unopenable\n  Scenario: S\n    When M1 is handled\n";
    let result = run_with(&project, feature, &Interrupt::new(), &mut |_: &RunEvent| {});
    assert_eq!(result.exit, Exit::Broken);
    assert_eq!(message(&result), "port 8081 is in use");
    assert_eq!(result.scenarios[0].1.steps[0].exit, None);
}

#[test]
fn a_run_that_cannot_be_prepared_runs_no_scenario() {
    let project = Arc::new(ToyProject {
        ill: true,
        ..ToyProject::default()
    });
    let feature = "Feature: F\n  Scenario: S\n    When M1 is handled\n";
    let result = run_with(&project, feature, &Interrupt::new(), &mut |_: &RunEvent| {});
    assert_eq!(result.exit, Exit::Broken);
    assert_eq!(result.left_out(), 1);
    assert_eq!(result.evidence[0].message, "no database was found");
    assert!(project.diary.read().is_empty());
}

#[test]
fn an_interrupt_ends_steps_closes_worlds_and_leaves_the_rest_out() {
    let project = Arc::new(ToyProject {
        limits: rehearsal::gherkin::Limits {
            step: Duration::from_hours(1),
            scenario: Duration::from_hours(1),
            ..ToyProject::default().limits
        },
        ..ToyProject::default()
    });
    let mut feature = "Feature: F\n".to_owned();
    for number in 0..6 {
        let _ = writeln!(
            feature,
            "  Scenario: S{number}\n    When nothing happens for 1 hour"
        );
    }
    let interrupt = Interrupt::new();
    let mut started = 0;
    let raise = interrupt.clone();
    let result = run_with(&project, &feature, &interrupt, &mut |event: &RunEvent| {
        if matches!(event, RunEvent::StepStarted { .. }) {
            started += 1;
            if started == 4 {
                raise.raise();
            }
        }
    });
    assert_eq!(result.exit, Exit::Interrupted);
    assert_eq!((result.count(Exit::Interrupted), result.left_out()), (4, 2));
    let closed = project
        .diary
        .read()
        .iter()
        .filter(|line| line.starts_with("close"))
        .count();
    assert_eq!(closed, 4);
}

#[test]
fn a_second_interrupt_waits_for_no_closing() {
    let project = Arc::new(ToyProject {
        limits: rehearsal::gherkin::Limits {
            close: Duration::from_hours(1),
            ..ToyProject::default().limits
        },
        ..ToyProject::default()
    });
    let interrupt = Interrupt::new();
    let raise = interrupt.clone();
    let begun = Instant::now();
    let feature = "Feature: F\n  Scenario: S\n    When the closing takes 1 hour\n    And nothing happens for 10ms\n";
    let result = run_with(&project, feature, &interrupt, &mut |event: &RunEvent| {
        if matches!(event, RunEvent::StepEnded { step: 1, .. }) {
            raise.raise();
            raise.raise();
        }
    });
    assert_eq!(result.exit, Exit::Interrupted);
    assert!(begun.elapsed() < Duration::from_hours(1));
}
