//! `junit.xml`: one suite a feature, one case a scenario or row of its examples.

use std::fmt::Write as _;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::repeat::Repeat;
use super::terminal::table;
use super::{Report, ReportError, Target};
use crate::gherkin::{Evidence, Exit, RunEvent, RunResult, ScenarioInfo, ScenarioOutcome};

/// Writes the XML that CI systems read.
pub struct Junit {
    to: Target,
    repeat: Repeat,
}

impl Junit {
    /// Writes there.
    pub fn new(to: impl Into<Target>, repeat: Repeat) -> Self {
        Self {
            to: to.into(),
            repeat,
        }
    }

    fn case(&self, scenario: &ScenarioInfo, outcome: &ScenarioOutcome) -> TestCase {
        let worst = outcome.cause();
        let status = match outcome.verdict {
            _ if !outcome.ran => {
                let mut status = TestCaseStatus::skipped();
                status.set_message("the run ended before it");
                status
            }
            Exit::Passed => TestCaseStatus::success(),
            Exit::Failed => self.status(NonSuccessKind::Failure, scenario, outcome, worst),
            Exit::Unproven | Exit::Broken | Exit::Invalid | Exit::Interrupted => {
                self.status(NonSuccessKind::Error, scenario, outcome, worst)
            }
        };
        let mut case = TestCase::new(scenario.name.as_str(), status);
        case.set_classname(scenario.path.as_str());
        case.set_time(outcome.took);
        case.add_property(("place", scenario.selector().as_str()));
        for figure in &outcome.figures {
            case.add_property((figure.name.as_str(), figure.value.as_str()));
        }
        for warning in &outcome.warnings {
            case.add_property(("warning", warning.message.as_str()));
        }
        if let Some(history) = &outcome.history {
            case.add_property(("history", history.display().to_string().as_str()));
        }
        case
    }

    fn status(
        &self,
        kind: NonSuccessKind,
        scenario: &ScenarioInfo,
        outcome: &ScenarioOutcome,
        cause: Option<&Evidence>,
    ) -> TestCaseStatus {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type(outcome.verdict.to_string());
        if let Some(cause) = cause {
            status.set_message(cause.message.lines().next().unwrap_or_default());
        }
        // Some readers show the attribute, others the body.
        let mut body = String::new();
        for evidence in &outcome.evidence {
            let _ = writeln!(body, "{}: {}", evidence.verdict, evidence.message);
            if let Some(step) = evidence.step.and_then(|step| outcome.steps.get(step)) {
                let _ = writeln!(body, "in {} ({}:{})", step.text, scenario.path, step.line);
            }
            if !evidence.rows.is_empty() {
                let _ = writeln!(body, "{}", table::comparison(&evidence.rows));
            }
            if let Some(help) = &evidence.help {
                let _ = writeln!(body, "help: {help}");
            }
        }
        if !outcome.excerpt.is_empty() {
            let _ = writeln!(body, "what led there:\n{}", outcome.excerpt.join("\n"));
        }
        if let Some(history) = &outcome.history {
            let _ = writeln!(body, "history: {}", history.display());
        }
        let _ = writeln!(body, "repeat: {}", self.repeat.of(scenario));
        status.set_description(body);
        status
    }

    fn report(&self, result: &RunResult) -> quick_junit::Report {
        let mut suites: Vec<(&str, TestSuite)> = Vec::new();
        for (scenario, outcome) in &result.scenarios {
            let case = self.case(scenario, outcome);
            let position = suites.iter().position(|(path, _)| *path == scenario.path);
            let position = position.unwrap_or_else(|| {
                let mut suite = TestSuite::new(scenario.feature.as_str());
                suite.add_property(("file", scenario.path.as_str()));
                suites.push((&scenario.path, suite));
                suites.len() - 1
            });
            suites[position].1.add_test_case(case);
        }
        if !result.evidence.is_empty() {
            // What went wrong outside of any scenario must not leave a green report.
            let mut suite = TestSuite::new("run");
            for evidence in &result.evidence {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
                status.set_type(evidence.verdict.to_string());
                status.set_message(evidence.message.as_str());
                status.set_description(evidence.message.as_str());
                suite.add_test_case(TestCase::new("run", status));
            }
            suites.push(("run", suite));
        }
        let mut report = quick_junit::Report::new("rehearsal");
        report.set_time(result.took);
        report.add_test_suites(suites.into_iter().map(|(_, suite)| suite));
        report
    }
}

impl Report for Junit {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        let RunEvent::RunEnded { result } = event else {
            return Ok(());
        };
        let content = |error: quick_junit::SerializeError| ReportError::Content {
            path: self.to.name(),
            reason: error.to_string(),
        };
        let text = self.report(result).to_string().map_err(content)?;
        self.to.write(&text)
    }
}
