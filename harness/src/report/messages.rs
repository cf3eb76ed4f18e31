//! `messages.ndjson`: Cucumber Messages, which other tools make reports from. An outline's
//! rows and a background's steps stand as they ran: each row is a scenario of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{Report, ReportError, Target};
use crate::gherkin::{Exit, RunEvent, RunInfo, RunResult, ScenarioInfo, ScenarioOutcome};

/// The version of the protocol that is spoken.
const PROTOCOL: &str = "32.0.0";

/// What is found beside the steps is told by a hook after them.
const HOOK: &str = "judged";

/// Writes the messages.
pub struct Messages {
    to: Target,
    run: Option<Arc<RunInfo>>,
    began: OffsetDateTime,
    /// When each scenario began, by its number.
    begun: BTreeMap<usize, OffsetDateTime>,
}

impl Messages {
    /// Writes there.
    pub fn new(to: impl Into<Target>) -> Self {
        Self {
            to: to.into(),
            run: None,
            began: OffsetDateTime::now_utc(),
            begun: BTreeMap::new(),
        }
    }

    fn all(&self, run: &RunInfo, result: &RunResult) -> Vec<Value> {
        let mut messages = vec![json!({ "meta": {
            "protocolVersion": PROTOCOL,
            "implementation": { "name": "rehearsal", "version": env!("CARGO_PKG_VERSION") },
            "runtime": { "name": "rust" },
            "os": { "name": std::env::consts::OS },
            "cpu": { "name": std::env::consts::ARCH },
        } })];
        messages.push(json!({ "hook": {
            "id": HOOK,
            "name": "the world is closed and its history judged",
            "type": "AFTER_TEST_CASE",
            "sourceReference": { "uri": "rehearsal" },
        } }));
        let mut features: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, (scenario, _)) in result.scenarios.iter().enumerate() {
            features.entry(&scenario.path).or_default().push(index);
        }
        for (path, members) in &features {
            messages.push(source(path));
            messages.push(parsed(path, members, result));
        }
        for (index, (scenario, outcome)) in result.scenarios.iter().enumerate() {
            messages.push(pickle(index, scenario, outcome));
        }
        let run_id = run.id.as_str();
        messages.push(
            json!({ "testRunStarted": { "id": run_id, "timestamp": timestamp(self.began) } }),
        );
        for (index, (_, outcome)) in result.scenarios.iter().enumerate() {
            messages.push(case(index, run_id, outcome));
        }
        for (index, (_, outcome)) in result.scenarios.iter().enumerate() {
            if outcome.ran {
                let begun = self.begun.get(&index).copied().unwrap_or(self.began);
                course(&mut messages, index, begun, outcome);
            }
        }
        let reasons: Vec<&str> = result
            .evidence
            .iter()
            .map(|evidence| evidence.message.as_str())
            .collect();
        let mut finished = json!({
            "success": result.exit == Exit::Passed,
            "timestamp": timestamp(self.began + result.took),
            "testRunStartedId": run_id,
        });
        if !reasons.is_empty() {
            finished["message"] = reasons.join("\n").into();
        }
        messages.push(json!({ "testRunFinished": finished }));
        messages
    }
}

fn source(path: &str) -> Value {
    // A feature that is gone by now is still one that ran.
    let data = std::fs::read_to_string(path).unwrap_or_default();
    json!({ "source": { "uri": path, "data": data, "mediaType": "text/x.cucumber.gherkin+plain" } })
}

fn parsed(path: &str, members: &[usize], result: &RunResult) -> Value {
    let name = members
        .first()
        .map_or("", |index| result.scenarios[*index].0.feature.as_str());
    let children: Vec<Value> = members
        .iter()
        .map(|index| {
            let (scenario, outcome) = &result.scenarios[*index];
            let steps: Vec<Value> = outcome
                .steps
                .iter()
                .enumerate()
                .map(|(at, step)| {
                    let (keyword, text) = split(&step.text);
                    json!({
                        "id": format!("step-{index}-{at}"),
                        "location": { "line": step.line },
                        "keyword": format!("{keyword} "),
                        "text": text,
                    })
                })
                .collect();
            json!({ "scenario": {
                "id": format!("scenario-{index}"),
                "location": { "line": scenario.line },
                "keyword": "Scenario",
                "name": scenario.name,
                "description": "",
                "tags": tags(*index, scenario, |name, id, line| {
                    json!({ "name": name, "id": id, "location": { "line": line } })
                }),
                "steps": steps,
                "examples": [],
            } })
        })
        .collect();
    json!({ "gherkinDocument": {
        "uri": path,
        "comments": [],
        "feature": {
            "location": { "line": 1 },
            "language": "en",
            "keyword": "Feature",
            "name": name,
            "description": "",
            "tags": [],
            "children": children,
        },
    } })
}

fn tags(
    index: usize,
    scenario: &ScenarioInfo,
    tag: impl Fn(String, String, usize) -> Value,
) -> Vec<Value> {
    let named = scenario.tags.iter().enumerate();
    named
        .map(|(at, name)| {
            tag(
                format!("@{name}"),
                format!("tag-{index}-{at}"),
                scenario.line,
            )
        })
        .collect()
}

fn pickle(index: usize, scenario: &ScenarioInfo, outcome: &ScenarioOutcome) -> Value {
    let steps: Vec<Value> = outcome
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| {
            json!({
                "id": format!("pickle-step-{index}-{at}"),
                "astNodeIds": [format!("step-{index}-{at}")],
                "text": split(&step.text).1,
            })
        })
        .collect();
    json!({ "pickle": {
        "id": format!("pickle-{index}"),
        "uri": scenario.path,
        "name": scenario.name,
        "language": "en",
        "location": { "line": scenario.line },
        "steps": steps,
        "tags": tags(index, scenario, |name, id, _| json!({ "name": name, "astNodeId": id })),
        "astNodeIds": [format!("scenario-{index}")],
    } })
}

/// The step of a case at which the world is closed and its history judged: what speaks
/// against a scenario and belongs to none of its steps.
fn judging(index: usize) -> String {
    format!("judged-{index}")
}

fn case(index: usize, run: &str, outcome: &ScenarioOutcome) -> Value {
    let mut steps: Vec<Value> = (0..outcome.steps.len())
        .map(|at| {
            json!({
                "id": format!("test-step-{index}-{at}"),
                "pickleStepId": format!("pickle-step-{index}-{at}"),
                "stepDefinitionIds": [],
                "stepMatchArgumentsLists": [],
            })
        })
        .collect();
    steps.push(json!({ "id": judging(index), "hookId": HOOK }));
    json!({ "testCase": {
        "id": format!("case-{index}"),
        "pickleId": format!("pickle-{index}"),
        "testRunStartedId": run,
        "testSteps": steps,
    } })
}

/// What happened in a scenario, in order.
fn course(
    messages: &mut Vec<Value>,
    index: usize,
    begun: OffsetDateTime,
    outcome: &ScenarioOutcome,
) {
    let started = format!("started-{index}");
    messages.push(json!({ "testCaseStarted": {
        "id": started,
        "attempt": 0,
        "testCaseId": format!("case-{index}"),
        "timestamp": timestamp(begun),
    } }));
    let mut now = begun;
    let mut step = |id: String, status: &str, took: Duration, message: Option<String>| {
        let mut result = json!({ "status": status, "duration": duration(took) });
        if let Some(message) = message {
            result["message"] = message.into();
        }
        messages.push(json!({ "testStepStarted": {
            "testCaseStartedId": started, "testStepId": id, "timestamp": timestamp(now),
        } }));
        now += took;
        messages.push(json!({ "testStepFinished": {
            "testCaseStartedId": started, "testStepId": id, "timestamp": timestamp(now),
            "testStepResult": result,
        } }));
    };
    for (at, record) in outcome.steps.iter().enumerate() {
        let message = told(outcome, Some(at));
        let status = record.exit.map_or("SKIPPED", status);
        step(
            format!("test-step-{index}-{at}"),
            status,
            record.took,
            message,
        );
    }
    let apart = outcome.evidence.iter().filter(|one| one.step.is_none());
    let worst = apart.map(|one| one.verdict).max();
    let verdict = status(worst.unwrap_or(Exit::Passed));
    step(judging(index), verdict, Duration::ZERO, told(outcome, None));
    messages.push(json!({ "testCaseFinished": {
        "testCaseStartedId": started,
        "timestamp": timestamp(begun + outcome.took),
        "willBeRetried": false,
    } }));
}

/// What speaks against a scenario at this step, or at none.
fn told(outcome: &ScenarioOutcome, step: Option<usize>) -> Option<String> {
    let evidence = outcome.evidence.iter().filter(|one| one.step == step);
    let warnings = outcome.warnings.iter().filter(|_| step.is_none());
    let told: Vec<String> = evidence
        .map(|one| format!("{}: {}", one.verdict, one.message))
        .chain(warnings.map(|one| format!("warning: {}", one.message)))
        .collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

/// The nearest of their words. Nothing but what passed is a success.
fn status(exit: Exit) -> &'static str {
    match exit {
        Exit::Passed => "PASSED",
        Exit::Failed | Exit::Broken | Exit::Unproven => "FAILED",
        Exit::Invalid => "UNDEFINED",
        Exit::Interrupted => "SKIPPED",
    }
}

fn split(step: &str) -> (&str, &str) {
    step.split_once(' ').unwrap_or(("*", step))
}

fn timestamp(at: OffsetDateTime) -> Value {
    json!({ "seconds": at.unix_timestamp(), "nanos": at.nanosecond() })
}

fn duration(took: Duration) -> Value {
    json!({ "seconds": took.as_secs(), "nanos": took.subsec_nanos() })
}

impl Report for Messages {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        match event {
            RunEvent::RunStarted { run, .. } => {
                self.run = Some(Arc::clone(run));
                self.began = OffsetDateTime::now_utc();
            }
            RunEvent::ScenarioStarted { scenario } => {
                self.begun.insert(scenario.0, OffsetDateTime::now_utc());
            }
            RunEvent::RunEnded { result } => {
                let Some(run) = &self.run else { return Ok(()) };
                let mut text = String::new();
                for message in self.all(run, result) {
                    text.push_str(&message.to_string());
                    text.push('\n');
                }
                self.to.write(&text)?;
            }
            _ => {}
        }
        Ok(())
    }
}
