//! Where tries run: each batch on warm servers of its own, like any run of a suite.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::course::{Progress, ProveError, Request};
use super::variant::{Made, Variant};
use super::wire;
use crate::gherkin::{
    self, Compiled, Exit, Interrupt, Place, Plan, Project as _, RunEvent, RunInfo, RunOptions,
    Scenario, ScenarioOutcome, Selection, new_run_id,
};
use crate::manifest::{Command, Template};
use crate::suite::{Scene, Suite};

/// Hears of each scenario that ended.
type Ended<'e> = dyn FnMut(&mut dyn FnMut(Progress<'_>), usize, &ScenarioOutcome) + 'e;

/// What tries need.
pub(super) struct Stage<'a> {
    pub(super) suite: &'a Suite,
    pub(super) vocabulary: Compiled<Scene>,
    pub(super) scenarios: Vec<Arc<Scenario>>,
    pub(super) info: &'a RunInfo,
    pub(super) jobs: NonZeroUsize,
    pub(super) interrupt: &'a Interrupt,
    pub(super) tell: &'a mut (dyn FnMut(Progress<'_>) + 'a),
    pub(super) runs: usize,
    /// How many scenarios are green as they are, of how many that were run so.
    pub(super) green: (usize, usize),
}

impl Stage<'_> {
    /// Calls that misbehave, from a rehearsal in which nothing goes wrong; and its scenario,
    /// which stands behind all others.
    pub(super) fn wires(
        &mut self,
        request: &Request,
    ) -> Result<(Arc<Scenario>, Vec<Variant>), ProveError> {
        let directory = self.info.directory.join("wire");
        let broken = |error: std::io::Error| ProveError::Broken {
            reason: format!("cannot write {}: {error}", directory.display()),
        };
        fs::create_dir_all(&directory).map_err(broken)?;
        let file = directory.join("wire.feature");
        fs::write(&file, wire::PLAIN).map_err(broken)?;
        let selection = Selection {
            places: vec![Place::Path(file)],
            ..Selection::default()
        };
        let picked = selection.pick();
        let picked = picked.map_err(|error| ProveError::Invalid(error.to_string()))?;
        let outcomes = self.run("wire", &picked, None, &mut |_, _, _| {})?;
        let history = outcomes.first().and_then(|outcome| outcome.history.clone());
        let entries = history.and_then(|history| wire::entries(&history));
        let Some((entries, scenario)) = entries.zip(picked.into_iter().next()) else {
            let reason = "what the system does without faults left no record".to_owned();
            return Err(ProveError::Broken { reason });
        };
        let others: Vec<usize> = (0..self.scenarios.len()).collect();
        let plain = self.scenarios.len();
        let mut variants = wire::wire(self.suite.manifest(), &entries, plain, &others);
        variants.retain(|variant| request.names(variant));
        Ok((scenario, variants))
    }

    /// Runs scenarios as they are; gives back those that are green, the quickest first.
    pub(super) fn green(&mut self, wanted: &[usize]) -> Result<Vec<usize>, ProveError> {
        let scenarios = wanted.len();
        if scenarios == 0 {
            return Ok(Vec::new());
        }
        (self.tell)(Progress::Suite { scenarios });
        let plain: Vec<Arc<Scenario>> = wanted
            .iter()
            .map(|place| Arc::clone(&self.scenarios[*place]))
            .collect();
        self.runs += 1;
        let name = format!("suite-{}", self.runs);
        let outcomes = self.run(&name, &plain, None, &mut |_, _, _| {})?;
        let mut green: Vec<(Duration, usize)> = Vec::new();
        for (place, outcome) in wanted.iter().zip(outcomes) {
            match outcome.verdict {
                Exit::Passed => green.push((outcome.took, *place)),
                Exit::Interrupted => {}
                verdict => (self.tell)(Progress::NotGreen {
                    scenario: &self.scenarios[*place],
                    verdict,
                }),
            }
        }
        if self.interrupt.is_raised() {
            return Err(ProveError::Interrupted);
        }
        self.green.0 += green.len();
        self.green.1 += wanted.len();
        green.sort_unstable();
        Ok(green.into_iter().map(|(_, place)| place).collect())
    }

    pub(super) fn is_valid(&self, scenario: &Arc<Scenario>) -> bool {
        let alone = std::slice::from_ref(scenario);
        Plan::new(alone, &self.vocabulary, self.info.seed).is_ok()
    }

    /// Runs scenarios on a venue of their own.
    pub(super) fn run(
        &mut self,
        name: &str,
        scenarios: &[Arc<Scenario>],
        made: Option<Made>,
        ended: &mut Ended<'_>,
    ) -> Result<Vec<Arc<ScenarioOutcome>>, ProveError> {
        if scenarios.is_empty() {
            return Ok(Vec::new());
        }
        let mut manifest = (**self.suite.manifest()).clone();
        if let Some(Made { build, prepare }) = made {
            manifest.build = match (build.as_slice(), manifest.defects.build.take()) {
                ([], Some(build)) => build,
                ([], None) => manifest.build,
                (lines, _) => lines.iter().map(|line| shell(line)).collect(),
            };
            for (name, value) in &prepare {
                let value = Template::literal(value);
                for command in &mut manifest.prepare {
                    command.environment.insert(name.clone(), value.clone());
                }
            }
        }
        let suite = Arc::new(self.suite.with(manifest));
        let plan = Plan::new(scenarios, &self.vocabulary, self.info.seed)
            .map_err(|problems| ProveError::Invalid(problems.to_string()))?;
        let directory: PathBuf = self.info.directory.join(name);
        let broken = |error: std::io::Error| ProveError::Broken {
            reason: format!("cannot make {}: {error}", directory.display()),
        };
        fs::create_dir_all(&directory).map_err(broken)?;
        let info = Arc::new(RunInfo {
            id: new_run_id(),
            directory,
            ..self.info.clone()
        });
        let options = RunOptions {
            fail_fast: None,
            jobs: self.jobs,
            limits: suite.limits(),
        };
        let tell = &mut *self.tell;
        let mut listener = |event: &RunEvent| {
            if let RunEvent::ScenarioEnded { scenario, outcome } = event {
                ended(tell, scenario.0, outcome);
            }
        };
        let result =
            gherkin::rehearse(&suite, &plan, &info, options, self.interrupt, &mut listener);
        let broken = result.evidence.iter();
        let mut broken = broken.filter(|one| one.verdict != Exit::Passed);
        if let Some(evidence) = broken.next() {
            return Err(ProveError::Broken {
                reason: evidence.message.clone(),
            });
        }
        let outcomes = result.scenarios.into_iter();
        Ok(outcomes.map(|(_, outcome)| outcome).collect())
    }
}

/// A command line of a defect, run by a shell.
fn shell(line: &str) -> Command {
    let words = ["sh", "-c", line].map(Template::literal);
    Command {
        words: words.to_vec(),
        environment: BTreeMap::new(),
    }
}
