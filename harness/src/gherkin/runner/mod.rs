//! Runs a plan: scenarios side by side, each on a thread of its own, all events in one
//! order.
//!
//! ```text
//! scenario threads ──┐
//! prepare, finish ───┼─ messages ─▶ the thread that called `rehearse` ─▶ reports
//! signals ───────────┘              (starts scenarios, watches the clock)
//! ```

mod guard;
mod stage;
mod thread;

use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use self::stage::Stage;
use super::event::{Message, RunEvent, RunResult, ScenarioId};
use super::exit::Exit;
use super::interrupt::Interrupt;
use super::outcome::{Evidence, ScenarioOutcome};
use super::plan::Plan;
use super::project::{Limits, Project, Shared};
use super::world::{Context, Notes, RunInfo};

pub use self::guard::keep_places_of_panics;

/// Takes what happens in a run, in order.
pub trait Listener {
    /// Something happened.
    fn event(&mut self, event: &RunEvent);

    /// Time passed. Called some ten times a second.
    fn tick(&mut self) {}
}

impl<F: FnMut(&RunEvent)> Listener for F {
    fn event(&mut self, event: &RunEvent) {
        self(event);
    }
}

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// How many scenarios run side by side.
    pub jobs: NonZeroUsize,
    /// After how many that did not pass no further one is started.
    pub fail_fast: Option<NonZeroUsize>,
    /// How long things may take.
    pub limits: Limits,
}

impl RunOptions {
    /// Two scenarios for each core: they wait for round trips and timers more than
    /// they compute.
    pub fn default_jobs() -> NonZeroUsize {
        std::thread::available_parallelism()
            .unwrap_or(NonZeroUsize::MIN)
            .saturating_mul(NonZeroUsize::MIN.saturating_add(1))
    }
}

const TICK: Duration = Duration::from_millis(100);

/// Runs a plan and tells a listener all that happens.
pub fn rehearse<P: Project>(
    project: &Arc<P>,
    plan: &Plan<P::World>,
    run: &Arc<RunInfo>,
    options: RunOptions,
    interrupt: &Interrupt,
    listener: &mut dyn Listener,
) -> RunResult {
    keep_places_of_panics();
    let (to, messages) = channel();
    let mut course = Course {
        begun: Instant::now(),
        limits: options.limits,
        fail_fast: options.fail_fast,
        interrupt: interrupt.clone(),
        listener,
        messages,
        told_interrupt: false,
        evidence: Vec::new(),
        remarks: Vec::new(),
        outcomes: vec![None; plan.scenarios.len()],
    };
    course.tell(&RunEvent::RunStarted {
        run: Arc::clone(run),
        scenarios: plan.infos().cloned().collect(),
        jobs: options.jobs.get(),
    });
    match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => {
            if let Some(shared) = course.prepare(&runtime, project, run, &to) {
                let shared = Arc::new(shared);
                course.perform(plan, run, &shared, options.jobs, &to);
                if !interrupt.is_raised() {
                    course.remarks = project.remarks(run, &shared);
                }
                course.finish(&runtime, project, shared);
            }
            runtime.shutdown_timeout(options.limits.grace);
        }
        Err(error) => {
            course.evidence.push(Evidence::new(
                Exit::Broken,
                format!("cannot start threads: {error}"),
            ));
        }
    }
    course.end(plan, run)
}

struct Course<'a> {
    begun: Instant,
    limits: Limits,
    fail_fast: Option<NonZeroUsize>,
    interrupt: Interrupt,
    listener: &'a mut dyn Listener,
    messages: Receiver<Message>,
    told_interrupt: bool,
    evidence: Vec<Evidence>,
    remarks: Vec<String>,
    outcomes: Vec<Option<Arc<ScenarioOutcome>>>,
}

impl Course<'_> {
    fn tell(&mut self, event: &RunEvent) {
        self.listener.event(event);
    }

    /// The next message, or nothing if none came for a moment.
    fn next(&mut self) -> Option<Message> {
        if self.interrupt.is_raised() && !self.told_interrupt {
            self.told_interrupt = true;
            self.tell(&RunEvent::Interrupted);
        }
        match self.messages.recv_timeout(TICK) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                self.listener.tick();
                None
            }
        }
    }

    fn prepare<P: Project>(
        &mut self,
        runtime: &tokio::runtime::Runtime,
        project: &Arc<P>,
        run: &Arc<RunInfo>,
        to: &Sender<Message>,
    ) -> Option<Shared<P>> {
        let (project, run) = (Arc::clone(project), Arc::clone(run));
        let notes = Notes {
            scenario: None,
            to: to.clone(),
        };
        let interrupt = self.interrupt.clone();
        let prepared = self.aside(runtime, "prepare", None, async move {
            tokio::select! {
                result = project.prepare(&run, &notes, &interrupt) => Some(result),
                () = guard::ended(&interrupt) => None,
            }
        });
        match prepared.flatten()? {
            Ok(shared) => Some(shared),
            Err(error) => {
                self.evidence.push(error.into());
                None
            }
        }
    }

    fn finish<P: Project>(
        &mut self,
        runtime: &tokio::runtime::Runtime,
        project: &Arc<P>,
        shared: Arc<Shared<P>>,
    ) {
        let project = Arc::clone(project);
        let interrupt = self.interrupt.clone();
        let limit = self.limits.close;
        let finished = self.aside(runtime, "finish", Some(limit), async move {
            tokio::select! {
                result = project.finish(shared) => Some(result),
                () = interrupt.urgent() => None,
            }
        });
        if let Some(Some(Err(error))) = finished {
            self.evidence.push(error.into());
        }
    }

    /// Awaits something on a thread aside, while events go on. Nothing comes back if it
    /// panicked or took too long, which is recorded, or was left on an urgent interrupt.
    fn aside<T: Send + 'static>(
        &mut self,
        runtime: &tokio::runtime::Runtime,
        what: &str,
        limit: Option<Duration>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new()
            .name(what.to_owned())
            .spawn(move || {
                guard::watching(|| {
                    std::panic::catch_unwind(AssertUnwindSafe(|| handle.block_on(future)))
                })
            });
        let thread = match thread {
            Ok(thread) => thread,
            Err(error) => {
                let message = format!("cannot start a thread to {what}: {error}");
                self.evidence.push(Evidence::new(Exit::Broken, message));
                return None;
            }
        };
        let begun = Instant::now();
        let mut urgent_since = None;
        while !thread.is_finished() {
            self.pass_on();
            if limit.is_some_and(|limit| begun.elapsed() > limit + self.limits.grace) {
                let limit = limit.unwrap_or_default();
                let message = format!("the run's {what} did not end within {limit:?}");
                self.evidence.push(Evidence::new(Exit::Broken, message));
                return None;
            }
            if self.interrupt.is_urgent() {
                let since = *urgent_since.get_or_insert_with(Instant::now);
                if since.elapsed() > self.limits.grace {
                    return None;
                }
            }
        }
        self.drain();
        let (result, panics) = thread.join().ok()?;
        match result {
            Ok(value) => Some(value),
            Err(panic) => {
                let message = guard::describe(&*panic, &panics, what);
                self.evidence.push(Evidence::new(Exit::Broken, message));
                None
            }
        }
    }

    fn pass_on(&mut self) {
        // Short, so that the end of what is awaited is seen at once.
        match self.messages.recv_timeout(Duration::from_millis(5)) {
            Ok(Message::Event(event)) => self.tell(&event),
            Ok(_) => {}
            Err(_) => {
                if self.interrupt.is_raised() && !self.told_interrupt {
                    self.told_interrupt = true;
                    self.tell(&RunEvent::Interrupted);
                }
                self.listener.tick();
            }
        }
    }

    fn drain(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            if let Message::Event(event) = message {
                self.tell(&event);
            }
        }
    }

    fn perform<W: super::world::World>(
        &mut self,
        plan: &Plan<W>,
        run: &Arc<RunInfo>,
        shared: &Arc<W::Shared>,
        jobs: NonZeroUsize,
        to: &Sender<Message>,
    ) {
        let mut waiting = plan.scenarios.iter();
        let mut stage = Stage::new(self.limits);
        loop {
            while stage.has_room(jobs.get()) && !self.interrupt.is_raised() && !self.is_enough() {
                let Some(scenario) = waiting.next() else {
                    break;
                };
                let context = Context {
                    run: Arc::clone(run),
                    shared: Arc::clone(shared),
                    directory: run.directory.join(scenario.info.slug()),
                    notes: Notes {
                        scenario: Some(scenario.info.id),
                        to: to.clone(),
                    },
                    interrupt: self.interrupt.clone(),
                };
                self.tell(&RunEvent::ScenarioStarted {
                    scenario: scenario.info.id,
                });
                let spawned = thread::spawn(scenario, context, self.limits, to.clone());
                match spawned {
                    Ok(handle) => stage.enter(scenario, handle),
                    Err(error) => {
                        let mut outcome = ScenarioOutcome::begun(thread::steps(scenario));
                        outcome.add(Evidence::new(
                            Exit::Broken,
                            format!("cannot start a thread: {error}"),
                        ));
                        self.ended(scenario.info.id, outcome);
                    }
                }
            }
            if stage.is_empty() {
                return;
            }
            match self.next() {
                Some(Message::Event(event)) if stage.follow(&event) => self.tell(&event),
                Some(Message::Phase {
                    scenario,
                    what,
                    within,
                }) => stage.phase(scenario, what, within),
                Some(Message::Lingers { scenario }) => stage.linger(scenario),
                Some(Message::Done { scenario, outcome }) if stage.leave(scenario) => {
                    self.ended(scenario, *outcome);
                }
                Some(Message::Event(_) | Message::Done { .. }) | None => {}
            }
            for (scenario, outcome) in stage.abandon_blocked(&self.interrupt) {
                self.ended(scenario, outcome);
            }
        }
    }

    /// Whether so many did not pass that no further one is to start.
    fn is_enough(&self) -> bool {
        let ended = self.outcomes.iter().flatten();
        let bad = ended
            .filter(|outcome| outcome.verdict != Exit::Passed)
            .count();
        self.fail_fast.is_some_and(|most| bad >= most.get())
    }

    fn ended(&mut self, scenario: ScenarioId, outcome: ScenarioOutcome) {
        let outcome = Arc::new(outcome);
        self.outcomes[scenario.0] = Some(Arc::clone(&outcome));
        self.tell(&RunEvent::ScenarioEnded { scenario, outcome });
    }

    fn end<W>(mut self, plan: &Plan<W>, run: &Arc<RunInfo>) -> RunResult {
        for scenario in &plan.scenarios {
            if self.outcomes[scenario.info.id.0].is_none() {
                let mut outcome = ScenarioOutcome::begun(thread::steps(scenario));
                outcome.ran = false;
                outcome.verdict = Exit::Interrupted;
                self.ended(scenario.info.id, outcome);
            }
        }
        let outcomes = std::mem::take(&mut self.outcomes).into_iter().flatten();
        let scenarios: Vec<_> = plan.infos().cloned().zip(outcomes).collect();
        let verdicts = scenarios
            .iter()
            .filter(|(_, outcome)| outcome.ran)
            .map(|(_, outcome)| outcome.verdict)
            .chain(self.evidence.iter().map(|evidence| evidence.verdict));
        let worst = verdicts.max().unwrap_or(Exit::Passed);
        let exit = if self.interrupt.is_raised() {
            Exit::Interrupted
        } else {
            worst
        };
        let result = RunResult {
            exit,
            evidence: std::mem::take(&mut self.evidence),
            remarks: std::mem::take(&mut self.remarks),
            scenarios,
            took: self.begun.elapsed(),
            directory: run.directory.clone(),
        };
        self.tell(&RunEvent::RunEnded {
            result: Arc::new(result.clone()),
        });
        result
    }
}
