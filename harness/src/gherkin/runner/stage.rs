//! The scenarios that run now: what each of them does and since when, so that one whose
//! thread is blocked can be given up.

use std::collections::BTreeMap;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::super::event::{RunEvent, ScenarioId};
use super::super::exit::Exit;
use super::super::interrupt::Interrupt;
use super::super::outcome::{Evidence, ScenarioOutcome};
use super::super::plan::Planned;
use super::super::project::Limits;
use super::guard::COURTESY;
use super::thread;

/// How many may linger for each that runs: each has a deployment of its own.
const LINGERING: usize = 3;

/// The scenarios that run now.
pub(super) struct Stage {
    limits: Limits,
    running: BTreeMap<ScenarioId, Running>,
}

struct Running {
    thread: JoinHandle<()>,
    begun: Instant,
    /// What it does, and until when it must have done something else.
    phase: String,
    until: Instant,
    interrupted: bool,
    /// What would be reported if its thread never answered again.
    so_far: ScenarioOutcome,
    step: Option<usize>,
    /// Whether it does nothing any more but be watched.
    lingers: bool,
}

impl Stage {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            running: BTreeMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether another may begin beside those that run: whoever lingers takes no place,
    /// as long as they are not too many.
    pub(super) fn has_room(&self, jobs: usize) -> bool {
        let lingering = self.running.values().filter(|one| one.lingers).count();
        let at_work = self.running.len() - lingering;
        at_work < jobs && lingering < jobs.saturating_mul(LINGERING)
    }

    pub(super) fn linger(&mut self, scenario: ScenarioId) {
        if let Some(running) = self.running.get_mut(&scenario) {
            running.lingers = true;
        }
    }

    pub(super) fn enter<W>(&mut self, scenario: &Planned<W>, thread: JoinHandle<()>) {
        let now = Instant::now();
        let running = Running {
            thread,
            begun: now,
            phase: "opening".to_owned(),
            until: now + self.limits.scenario + self.limits.grace,
            interrupted: false,
            so_far: ScenarioOutcome::begun(thread::steps(scenario)),
            step: None,
            lingers: false,
        };
        self.running.insert(scenario.info.id, running);
    }

    /// Notes an event. Whether it should be passed on: an abandoned scenario is silent.
    pub(super) fn follow(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::StepStarted { scenario, step, .. } => self
                .running
                .get_mut(scenario)
                .map(|running| running.step = Some(*step))
                .is_some(),
            RunEvent::StepEnded {
                scenario,
                step,
                exit,
                took,
            } => {
                let Some(running) = self.running.get_mut(scenario) else {
                    return false;
                };
                let record = &mut running.so_far.steps[*step];
                (record.exit, record.took) = (Some(*exit), *took);
                running.step = None;
                true
            }
            RunEvent::ScenarioNote { scenario, .. } => self.running.contains_key(scenario),
            _ => true,
        }
    }

    pub(super) fn phase(&mut self, scenario: ScenarioId, what: String, within: Duration) {
        if let Some(running) = self.running.get_mut(&scenario) {
            running.phase = what;
            running.until = Instant::now() + within + self.limits.grace;
        }
    }

    /// A scenario is over by itself. Whether it still ran; one that was abandoned has
    /// its report already.
    pub(super) fn leave(&mut self, scenario: ScenarioId) -> bool {
        let Some(running) = self.running.remove(&scenario) else {
            return false;
        };
        // It has nothing left to do; a panic on its way out was reported by its hook.
        let _ = running.thread.join();
        true
    }

    /// Gives up the scenarios that should have ended what they do long ago.
    pub(super) fn abandon_blocked(
        &mut self,
        interrupt: &Interrupt,
    ) -> Vec<(ScenarioId, ScenarioOutcome)> {
        let now = Instant::now();
        let grace = self.limits.grace;
        for running in self.running.values_mut() {
            if interrupt.is_urgent() {
                running.until = running.until.min(now + grace);
            } else if interrupt.is_raised() && !running.interrupted && running.phase != "closing" {
                running.interrupted = true;
                running.until = running.until.min(now + COURTESY + grace);
            }
        }
        let blocked: Vec<ScenarioId> = self
            .running
            .iter()
            .filter(|(_, running)| running.until < now)
            .map(|(scenario, _)| *scenario)
            .collect();
        blocked
            .into_iter()
            .filter_map(|scenario| {
                let running = self.running.remove(&scenario)?;
                let mut outcome = running.so_far;
                let message = format!(
                    "{} blocks its thread, which was given up; its world could not be closed",
                    running.phase
                );
                outcome.add(Evidence::new(Exit::Broken, message).at(running.step));
                if let Some(step) = running.step {
                    outcome.steps[step].exit = Some(Exit::Broken);
                }
                outcome.took = running.begun.elapsed();
                Some((scenario, outcome))
            })
            .collect()
    }
}
