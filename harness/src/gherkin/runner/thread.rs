//! One scenario on its own thread: the world is opened, the steps run, the world is
//! closed.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::super::event::{Message, RunEvent, ScenarioId};
use super::super::exit::Exit;
use super::super::outcome::{Closing, Evidence, ScenarioOutcome, StepRecord};
use super::super::plan::Planned;
use super::super::project::Limits;
use super::super::world::{Context, World};
use super::guard::{self, Ended, guarded};

/// The steps of a scenario as records of steps that did not run yet.
pub(super) fn steps<W>(scenario: &Planned<W>) -> Vec<StepRecord> {
    let steps = scenario.steps.iter().map(|step| &step.text);
    let record = |step: &super::super::scenario::StepText| StepRecord {
        text: format!("{} {}", step.keyword, step.text),
        line: step.line,
        exit: None,
        took: Duration::ZERO,
    };
    steps.map(record).collect()
}

pub(super) fn spawn<W: World>(
    scenario: &Arc<Planned<W>>,
    context: Context<W::Shared>,
    limits: Limits,
    to: Sender<Message>,
) -> io::Result<JoinHandle<()>> {
    let scenario = Arc::clone(scenario);
    std::thread::Builder::new()
        .name(scenario.info.selector())
        .spawn(move || {
            let id = scenario.info.id;
            let begun = Instant::now();
            let outcome = ScenarioOutcome::begun(steps(&scenario));
            let mut act = Act {
                scenario: &scenario,
                limits,
                to: &to,
                begun,
                lingered: Duration::ZERO,
                outcome,
            };
            let (result, _) = guard::watching(|| {
                let result = std::panic::catch_unwind(AssertUnwindSafe(|| act.run(&context)));
                result.map_err(|panic| guard::describe(&*panic, &guard::panics(), "the scenario"))
            });
            let problem = match result {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(format!("cannot start a runtime: {error}")),
                Err(panic) => Some(panic),
            };
            if let Some(problem) = problem {
                act.outcome.add(Evidence::new(Exit::Broken, problem));
            }
            act.outcome.took = begun.elapsed().saturating_sub(act.lingered);
            let outcome = Box::new(act.outcome);
            // The context holds a share of the run's things; it goes first.
            drop(context);
            let _ = to.send(Message::Done {
                scenario: id,
                outcome,
            });
        })
}

struct Act<'a, W> {
    scenario: &'a Planned<W>,
    limits: Limits,
    to: &'a Sender<Message>,
    begun: Instant,
    /// How long it was watched after its end, which is no time of its own.
    lingered: Duration,
    outcome: ScenarioOutcome,
}

impl<W: World> Act<'_, W> {
    fn id(&self) -> ScenarioId {
        self.scenario.info.id
    }

    fn run(&mut self, context: &Context<W::Shared>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            if let Some(mut world) = self.open(context).await {
                self.steps(&mut world, context).await;
                self.settle(&mut world, context).await;
                self.linger(&world, context).await;
                self.close(&mut world, context).await;
            }
        });
        drop(local);
        runtime.shutdown_background();
        self.stray_panics("a task of the scenario", None);
        Ok(())
    }

    fn phase(&self, what: &str, within: Duration) {
        let _ = self.to.send(Message::Phase {
            scenario: self.id(),
            what: what.to_owned(),
            within,
        });
    }

    fn event(&self, event: RunEvent) {
        let _ = self.to.send(Message::Event(event));
    }

    fn left(&self) -> Duration {
        self.limits.scenario.saturating_sub(self.begun.elapsed())
    }

    async fn open(&mut self, context: &Context<W::Shared>) -> Option<W> {
        let limit = self.left();
        self.phase("opening", limit);
        let opening = W::open(context, &self.scenario.info);
        let opened = guarded(opening, limit, guard::ended(&context.interrupt)).await;
        let evidence = match opened {
            Ended::Well(Ok(world)) => return Some(world),
            Ended::Well(Err(error)) => error.into(),
            other => self.cut_short(&other, "opening", limit, Exit::Broken),
        };
        self.outcome.add(evidence);
        None
    }

    async fn steps(&mut self, world: &mut W, context: &Context<W::Shared>) {
        for (position, step) in self.scenario.steps.iter().enumerate() {
            let begun = Instant::now();
            let limit = self.limits.step.min(self.left());
            let text = self.outcome.steps[position].text.clone();
            self.phase(&format!("step `{text}`"), limit);
            self.event(RunEvent::StepStarted {
                scenario: self.id(),
                step: position,
                text: text.clone(),
            });
            let (table, doc_string) = (step.text.table.clone(), step.text.doc_string.clone());
            // The handler itself is inside, so that its panic before the first await is
            // caught as well.
            let running =
                async { (step.run)(world, step.arguments.clone(), table, doc_string).await };
            let ended = guarded(running, limit, context.interrupt.raised()).await;
            let evidence = match ended {
                Ended::Well(Ok(())) => None,
                Ended::Well(Err(error)) => Some(error.into()),
                other => {
                    Some(self.cut_short(&other, &format!("step `{text}`"), limit, Exit::Broken))
                }
            };
            let before = self.outcome.evidence.len();
            if let Some(evidence) = evidence {
                self.outcome.add(evidence.at(Some(position)));
            }
            self.stray_panics("a task", Some(position));
            let exit = self.outcome.evidence[before..]
                .iter()
                .map(|one| one.verdict)
                .max();
            let exit = exit.unwrap_or(Exit::Passed);
            let record = &mut self.outcome.steps[position];
            (record.exit, record.took) = (Some(exit), begun.elapsed());
            let took = record.took;
            self.event(RunEvent::StepEnded {
                scenario: self.id(),
                step: position,
                exit,
                took,
            });
            if exit != Exit::Passed {
                return;
            }
        }
    }

    /// What a world still has to find out once its steps are over.
    async fn settle(&mut self, world: &mut W, context: &Context<W::Shared>) {
        let limit = self.limits.close;
        self.phase("settling", limit);
        let so_far = self.outcome.clone();
        let settling = async { world.settle(&so_far).await };
        match guarded(settling, limit, guard::ended(&context.interrupt)).await {
            Ended::Well(evidence) => evidence
                .into_iter()
                .for_each(|evidence| self.outcome.add(evidence)),
            other => {
                let evidence = self.cut_short(&other, "settling", limit, Exit::Broken);
                self.outcome.add(evidence);
            }
        }
    }

    /// A world that is settled may be watched for a while; others run meanwhile.
    async fn linger(&mut self, world: &W, context: &Context<W::Shared>) {
        let lingers = world.lingers(&self.outcome);
        if lingers.is_zero() {
            return;
        }
        self.phase("lingering", lingers);
        let _ = self.to.send(Message::Lingers {
            scenario: self.id(),
        });
        let begun = Instant::now();
        let watching = tokio::time::sleep(lingers);
        let interrupted = context.interrupt.raised();
        tokio::select! {
            () = watching => {}
            () = interrupted => {
                let message = "interrupted while it was watched after its end";
                self.outcome.add(Evidence::new(Exit::Interrupted, message));
            }
        }
        self.lingered = begun.elapsed();
    }

    async fn close(&mut self, world: &mut W, context: &Context<W::Shared>) {
        self.outcome.took = self.begun.elapsed().saturating_sub(self.lingered);
        let limit = self.limits.close;
        self.phase("closing", limit);
        let so_far = self.outcome.clone();
        let closing = async { world.close(&so_far).await };
        match guarded(closing, limit, context.interrupt.urgent()).await {
            Ended::Well(Closing {
                evidence,
                warnings,
                figures,
                history,
                excerpt,
                doubted,
                void,
            }) => {
                // A doubt explains what seemed to be broken: it stands first.
                let mut earlier = Vec::new();
                if doubted {
                    self.outcome.doubt();
                    earlier = std::mem::take(&mut self.outcome.evidence);
                }
                for evidence in evidence.into_iter().chain(earlier) {
                    self.outcome.add(evidence);
                }
                if let Some(reason) = void {
                    self.outcome.void(reason);
                }
                self.outcome.warnings = warnings;
                self.outcome.figures = figures;
                self.outcome.history = history;
                self.outcome.excerpt = excerpt;
            }
            other => {
                let evidence = self.cut_short(&other, "closing", limit, Exit::Broken);
                self.outcome.add(evidence);
            }
        }
    }

    fn cut_short<T>(&self, ended: &Ended<T>, what: &str, limit: Duration, late: Exit) -> Evidence {
        match ended {
            Ended::Panicked(panic) => Evidence::new(
                Exit::Broken,
                guard::describe(&**panic, &guard::panics(), what),
            ),
            Ended::Interrupted => {
                Evidence::new(Exit::Interrupted, format!("interrupted in {what}"))
            }
            Ended::TooLate | Ended::Well(_)
                if self.left().is_zero() && !matches!(what, "closing" | "settling") =>
            {
                let limit = self.limits.scenario;
                Evidence::new(
                    late,
                    format!("the scenario's time ({limit:?}) was over in {what}"),
                )
            }
            Ended::TooLate | Ended::Well(_) => {
                Evidence::new(late, format!("{what} did not end within {limit:?}"))
            }
        }
    }

    /// Panics that no future of the frame saw: of tasks that were spawned on this thread.
    fn stray_panics(&mut self, what: &str, step: Option<usize>) {
        for panic in guard::panics() {
            let message = format!("the harness panicked in {what}: {panic}");
            self.outcome
                .add(Evidence::new(Exit::Broken, message).at(step));
        }
    }
}
