//! What will run: the selected scenarios, each step matched with its phrase. A plan
//! holds nothing that is undefined, ambiguous or unknown.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::arguments::Arguments;
use super::event::ScenarioId;
use super::problem::{Problem, ProblemKind, Problems};
use super::scenario::{Scenario, StepText};
use super::step::{Handler, Objection};
use super::vocabulary::{Compiled, Complaint, Found};
use super::world::ScenarioInfo;

/// The scenarios of a run, ready to run.
pub struct Plan<W> {
    /// In the order in which they are started.
    pub(super) scenarios: Vec<Arc<Planned<W>>>,
}

/// One scenario, ready to run.
pub(super) struct Planned<W> {
    pub(super) info: Arc<ScenarioInfo>,
    pub(super) steps: Vec<PlannedStep<W>>,
}

/// One step, ready to run.
pub(super) struct PlannedStep<W> {
    pub(super) text: StepText,
    pub(super) arguments: Arguments,
    pub(super) run: Handler<W>,
}

impl<W> PlannedStep<W> {
    fn again(&self) -> Self {
        Self {
            text: self.text.clone(),
            arguments: self.arguments.clone(),
            run: Arc::clone(&self.run),
        }
    }
}

impl<W> Plan<W> {
    /// Matches scenarios with a vocabulary.
    ///
    /// # Errors
    /// All that is wrong in any of them. A problem of a background or an outline is
    /// told once.
    pub fn new(
        scenarios: &[Arc<Scenario>],
        vocabulary: &Compiled<W>,
        seed: u64,
    ) -> Result<Self, Problems> {
        let mut problems: Vec<Problem> = Vec::new();
        let mut planned = Vec::new();
        for (number, scenario) in scenarios.iter().enumerate() {
            let mut steps = Vec::new();
            let mut phrases = Vec::new();
            for step in &scenario.steps {
                match vocabulary.find(step.kind, &step.text) {
                    Found::One {
                        step: index,
                        arguments,
                    } => {
                        let definition = &vocabulary.steps()[index];
                        let objections = vocabulary.objections(index, &arguments, step);
                        problems.extend(objections.into_iter().map(|objection| {
                            let Objection { row, message, help } = objection;
                            complaint(scenario, Some(step), row, message, help)
                        }));
                        phrases.push(definition.expression.as_str());
                        steps.push(PlannedStep {
                            text: step.clone(),
                            arguments,
                            run: Arc::clone(&definition.run),
                        });
                    }
                    other => problems.push(problem(scenario, step, vocabulary, other)),
                }
            }
            if steps.len() < scenario.steps.len() {
                continue;
            }
            let pairs: Vec<(&str, &Arguments)> = phrases
                .iter()
                .copied()
                .zip(steps.iter().map(|step| &step.arguments))
                .collect();
            for Complaint {
                step,
                row,
                line,
                message,
                help,
            } in vocabulary.complaints(scenario, &pairs)
            {
                let step = step.and_then(|step| scenario.steps.get(step));
                if step.is_some() {
                    problems.push(complaint(scenario, step, row, message, help));
                } else {
                    let kind = ProblemKind::Complaint { message, help };
                    let line = line.unwrap_or(scenario.line);
                    problems.push(Problem::at_line(&scenario.text, line, kind));
                }
            }
            let info = Arc::new(info(ScenarioId(number), scenario, seed));
            planned.push(Arc::new(Planned { info, steps }));
        }
        if problems.is_empty() {
            return Ok(Self { scenarios: planned });
        }
        let mut told = HashSet::new();
        problems.retain(|problem| told.insert((problem.place(), problem.kind.to_string())));
        Err(Problems { problems })
    }

    /// The same so many times over, one round after the other. A repetition has the seed of
    /// the scenario: what differs then is no choice of the harness.
    #[must_use]
    pub fn repeated(self, times: NonZeroUsize) -> Self {
        let times = times.get();
        if times == 1 {
            return self;
        }
        let mut scenarios = Vec::with_capacity(self.scenarios.len() * times);
        for repetition in 1..=times {
            for scenario in &self.scenarios {
                let info = ScenarioInfo {
                    id: ScenarioId(scenarios.len()),
                    name: format!("{} ({repetition} of {times})", scenario.info.name),
                    repetition: Some(repetition),
                    ..ScenarioInfo::clone(&scenario.info)
                };
                scenarios.push(Arc::new(Planned {
                    info: Arc::new(info),
                    steps: scenario.steps.iter().map(PlannedStep::again).collect(),
                }));
            }
        }
        Self { scenarios }
    }

    /// The scenarios.
    pub fn infos(&self) -> impl Iterator<Item = &Arc<ScenarioInfo>> {
        self.scenarios.iter().map(|scenario| &scenario.info)
    }
}

fn info(id: ScenarioId, scenario: &Scenario, seed: u64) -> ScenarioInfo {
    ScenarioInfo {
        id,
        path: scenario.text.path.clone(),
        feature: scenario.feature.clone(),
        rule: scenario.rule.clone(),
        name: scenario.name.clone(),
        line: scenario.line,
        tags: scenario.tags.clone(),
        seed: own_seed(seed, &scenario.feature, &scenario.name),
        repetition: None,
    }
}

/// FNV-1a over the run's seed and what names the scenario: the same on every machine
/// and in every version of the standard library.
fn own_seed(seed: u64, feature: &str, name: &str) -> u64 {
    let bytes = seed
        .to_le_bytes()
        .into_iter()
        .chain(feature.bytes())
        .chain([0])
        .chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What a check found, at the row or the step that it is about.
fn complaint(
    scenario: &Scenario,
    step: Option<&StepText>,
    row: Option<usize>,
    message: String,
    help: Option<String>,
) -> Problem {
    let table = step.and_then(|step| step.table.as_ref());
    let line = row.and_then(|row| table?.lines.get(row).copied());
    let kind = ProblemKind::Complaint { message, help };
    match line {
        Some(line) => Problem::at_line(&scenario.text, line, kind),
        None => Problem {
            kind,
            text: Arc::clone(&scenario.text),
            span: step.map_or(0..0, |step| step.span.clone()),
        },
    }
}

fn problem<W>(
    scenario: &Scenario,
    step: &StepText,
    vocabulary: &Compiled<W>,
    found: Found,
) -> Problem {
    let text = step.text.clone();
    let mut span = step.span.clone();
    let kind = match found {
        Found::None { nearest, meant } => ProblemKind::Undefined {
            text,
            kind: step.kind,
            nearest,
            meant,
        },
        Found::OtherKind { step: index } => ProblemKind::OtherKind {
            text,
            is: vocabulary.steps()[index].kind,
            stands: step.kind,
        },
        Found::Several { steps } => ProblemKind::Ambiguous {
            text,
            phrases: steps
                .iter()
                .map(|index| &vocabulary.steps()[*index])
                .map(|step| step.expression.clone())
                .collect(),
        },
        Found::WrongValue {
            kind,
            text,
            reason,
            within,
        } => {
            if step.verbatim {
                span = step.phrase + within.start..step.phrase + within.end;
            }
            ProblemKind::wrong_value(kind, text, reason)
        }
        Found::One { .. } => unreachable!("a step that was found is no problem"),
    };
    Problem {
        kind,
        text: Arc::clone(&scenario.text),
        span,
    }
}
