//! One supervisor an instance: starts it, puts taps of its own around it, sees it die,
//! settles what it left, starts it again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::sync::watch;

use super::super::deliveries::Delivery;
use super::super::surroundings::Surroundings;
use super::slot::{Current, Now, Running, Slot};
use super::{ProcessError, Processes, locked, signal_name};
use crate::deployment::readiness::{self, Cause, Condition};
use crate::deployment::{Child, ExitOutcome, Logs, Start, sockets};
use crate::history::{DeathCause, Event};
use crate::ids::{Author, Incarnation};
use crate::manifest::{Address, Process, Protocol, Ready, Restart};
use crate::protocol::redis::Expiry;
use crate::tap::Tap;

/// How long the dependencies may take to see the end of a dead process's connections.
const DRAIN: Duration = Duration::from_secs(10);
/// So many unordered deaths in a row, each before the process was ready or without a
/// call of it, are a crash loop.
const FALSE_STARTS: u32 = 5;
/// How many of the last lines of its output are told of a process that died unasked.
const LAST_WORDS: usize = 10;

/// Where a process listens that is not reached where it was told to listen.
fn elsewhere(running: &Running) -> Option<String> {
    let told = running.current.reached?;
    let found = sockets::listening(running.current.child.pid());
    if found.is_empty() || found.iter().any(|it| it.port() == told.port()) {
        return None;
    }
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    Some(format!(
        "that it listens on {} and not where it is told to: give it `${{port}}` or `${{listen}}`",
        found.join(" and ")
    ))
}

impl Processes {
    pub(super) async fn supervise(self, slot: Arc<Slot>) {
        let process = self.manifest_of(&slot.role);
        let mut starts = 0;
        let mut false_starts = 0;
        loop {
            let mut wanted = slot.wanted.subscribe();
            if wanted.wait_for(|wanted| *wanted).await.is_err() {
                return;
            }
            slot.now.send_replace(Now::Starting);
            starts += 1;
            let incarnation = Incarnation {
                role: slot.role.clone(),
                instance: slot.instance,
                start: starts,
            };
            let running = match self.incarnate(&slot, &process, incarnation).await {
                Ok(running) => running,
                Err(error) => return self.give_up(&slot, error),
            };
            slot.current.send_replace(Some(running.current.clone()));
            let condition = self.condition(&process, &running);
            let child = running.current.child.clone();
            let incarnation = running.current.incarnation.clone();
            let ordered = Arc::clone(&running.current.cause);
            let mut was_ready = false;
            let within = process.ready_within;
            // A step waits for the first start.
            let step = self.0.board.manifest().limits.step.mul_f64(0.9);
            let at_most = readiness::at_most(within).min(step).max(within);
            match readiness::ready(&child, within, at_most, condition).await {
                Ok(()) => {
                    was_ready = true;
                    self.0.board.ready(&running.current.incarnation);
                    slot.now.send_replace(Now::Up);
                }
                Err(error) if matches!(error.cause, Cause::Died(_)) => {
                    let expected = self.0.board.is_expected_to_die(&incarnation);
                    if starts == 1 && locked(&ordered).is_none() && !expected {
                        self.settle(&slot, running).await;
                        return self.give_up(&slot, error.into());
                    }
                }
                Err(mut error) => {
                    error.seen = self.instead(&process, &incarnation, error.seen);
                    // Only the settling below, by this same task, tells the end: nothing here
                    // may wait for it.
                    locked(&running.current.cause).get_or_insert(DeathCause::Shutdown);
                    let elsewhere = elsewhere(&running);
                    let _ = running.current.child.signal(Signal::SIGKILL);
                    error.seen = elsewhere.or(error.seen);
                    self.settle(&slot, running).await;
                    return self.give_up(&slot, error.into());
                }
            }
            child.exited().await;
            let outcome = self.settle(&slot, running).await;
            let expected = self.0.board.is_expected_to_die(&incarnation);
            let worked = was_ready && self.0.board.has_called(&incarnation);
            if worked {
                false_starts = 0;
            } else if locked(&ordered).is_none() {
                false_starts += 1;
            }
            // One that never works stays down, if that is what the scenario expects.
            let stays_down = expected && false_starts >= FALSE_STARTS;
            if stays_down {
                false_starts = 0;
            }
            if stays_down || process.restart == Restart::Never {
                slot.wanted.send_replace(false);
            }
            slot.now.send_replace(Now::Down);
            if false_starts >= FALSE_STARTS {
                let process = slot.name();
                let mut output = child.logs().last_lines(LAST_WORDS);
                output.insert(0, String::new());
                let crash_loop = ProcessError::CrashLoop {
                    process,
                    times: false_starts,
                    outcome,
                    log: log_of(&child),
                    output: output.join("\n  "),
                };
                return self.give_up(&slot, crash_loop);
            }
            if let Restart::After(pause) = process.restart {
                tokio::select! {
                    _ = wanted.wait_for(|wanted| !*wanted) => {}
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    /// What was seen of a process that is not ready. One that answered, if not as it should,
    /// was found: what it connected to explains nothing.
    fn instead(
        &self,
        process: &Process,
        incarnation: &Incarnation,
        seen: Option<String>,
    ) -> Option<String> {
        match (seen, self.untouched(process, incarnation)) {
            (None, Some(untouched)) => Some(format!("that {untouched}")),
            (Some(seen), Some(untouched)) if !seen.starts_with(readiness::ANSWERED) => {
                Some(format!("{seen}, and {untouched}"))
            }
            (seen, _) => seen,
        }
    }

    /// What its environment or its command gives it the address of, and it never connected
    /// to: it goes round it, or never read it.
    fn untouched(&self, process: &Process, incarnation: &Incarnation) -> Option<String> {
        let mut given: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let words = process
            .command
            .words
            .iter()
            .map(|word| ("its command", word));
        let environment = process.command.environment.iter();
        let environment = environment.map(|(name, value)| (name.as_str(), value));
        for (name, template) in words.chain(environment) {
            for placeholder in template.placeholders() {
                let of = placeholder.split('.').next().unwrap_or_default();
                given.entry(of).or_default().push(name);
            }
        }
        let history = self.0.board.history();
        let touched: BTreeSet<String> = history.read(|entries| {
            let connected = entries.iter().filter_map(|entry| match &entry.event {
                Event::Connected {
                    author, dependency, ..
                } if author.incarnation() == Some(incarnation) => Some(dependency.to_string()),
                _ => None,
            });
            connected.collect()
        });
        let dependencies = self.0.board.manifest().dependencies.keys();
        let untouched: Vec<String> = dependencies
            .filter(|name| !touched.contains(name.as_str()))
            .filter_map(|name| {
                let names = given.get(name.as_str())?;
                Some(format!("`{name}` ({})", names.join(", ")))
            })
            .collect();
        (!untouched.is_empty()).then(|| {
            format!(
                "it never connected to {}: it goes round what it is given, never reads it, or has not come that far",
                untouched.join(" and ")
            )
        })
    }

    fn give_up(&self, slot: &Slot, error: ProcessError) {
        self.0.board.history().append(Event::Trouble {
            reason: error.to_string(),
        });
        slot.now.send_replace(Now::Broken(Arc::new(error)));
    }

    /// Opens the taps of a new incarnation and starts it.
    async fn incarnate(
        &self,
        slot: &Slot,
        process: &Process,
        incarnation: Incarnation,
    ) -> Result<Running, ProcessError> {
        let board = &self.0.board;
        let driver = &self.0.driver;
        let kept = locked(&slot.seat).take();
        let seat = match kept.filter(|_| process.container.address == Address::Kept) {
            Some(seat) => seat,
            None => driver.seat().await?,
        };
        *locked(&slot.seat) = Some(seat.clone());
        let (mut around, reached) = Surroundings::of_process(
            board,
            &self.0.dependencies,
            &incarnation,
            process.listens,
            &seat,
            driver.near_side(),
        )
        .await?;
        around.give(&self.0.overrides, &incarnation);
        let logs = Logs::together(self.0.logs.join(format!("{incarnation}.log")));
        let start = Start {
            memory: process.memory,
            ..around.start(board.manifest(), &incarnation, &process.command, logs)?
        };
        board.register(&incarnation, &around.gate);
        let room = &process.container.room;
        let child = match driver.start(start, &seat, room).await {
            Ok(child) => child,
            Err(error) => {
                board.unregister(&incarnation);
                return Err(error.into());
            }
        };
        board.started(&incarnation, child.pid().as_raw());
        let (ended, watch_ended) = watch::channel(false);
        let current = Current {
            incarnation,
            child,
            gate: Arc::clone(&around.gate),
            front: around.front.as_ref().map(Tap::address),
            reached,
            cause: Arc::default(),
            ended: watch_ended,
        };
        Ok(Running {
            current,
            ended,
            around,
            seat,
        })
    }

    fn condition(&self, process: &Process, running: &Running) -> Condition {
        match (&process.ready, running.current.reached) {
            (Ready::Http(path), Some(address)) => readiness::http(address, path),
            (Ready::Listening, Some(address)) => readiness::listening(address),
            (Ready::Output(text), _) => readiness::output(&running.current.child, text),
            (
                Ready::Call {
                    pattern,
                    dependency,
                },
                _,
            ) => {
                let board = self.0.board.clone();
                let incarnation = running.current.incarnation.clone();
                let known = board.manifest().dependencies.get(dependency);
                let protocol = known.map(|known| &known.protocol);
                let expected = match protocol {
                    Some(Protocol::Postgres { .. }) if process.ready.is_first_receive(dependency) => {
                        "that it asks its queue for work: a statement that names the table or one of \
                         its `calls`, LISTEN, or the same statement twice"
                            .to_owned()
                    }
                    _ => format!("its first call of {}", pattern.describe()),
                };
                Condition::new(
                    expected,
                    |_| async move { board.first_call(&incarnation).await },
                )
            }
            (Ready::Started, _) | (Ready::Http(_) | Ready::Listening, None) => Condition::started(),
        }
    }

    /// After a death: nothing of it reaches a dependency any more, its connections end
    /// on both sides, and what it had in hand becomes visible.
    async fn settle(&self, slot: &Slot, running: Running) -> ExitOutcome {
        let Running {
            current,
            ended,
            around,
            seat,
            ..
        } = running;
        let board = &self.0.board;
        let outcome = current.child.exited().await;
        // First: nobody may see it gone and think that nothing is under way.
        slot.now.send_replace(Now::Ending);
        current.gate.close().await;
        let (code, signal) = match outcome {
            ExitOutcome::Code(code) => (Some(code), None),
            ExitOutcome::Signal(number) => (None, Some(signal_name(number))),
            ExitOutcome::Unknown => (None, None),
        };
        let cause = *locked(&current.cause);
        let cause = board.exited(&current.incarnation, code, signal, cause);
        if cause == DeathCause::Unexpected {
            board.history().append(Event::LastWords {
                incarnation: current.incarnation.clone(),
                lines: current.child.logs().last_lines(LAST_WORDS),
                log: log_of(&current.child),
            });
        }
        ended.send_replace(true);
        slot.current.send_replace(None);
        // Else nobody would hear of the end of its connections.
        if let Err(reason) = seat.join().await {
            let reason = reason.to_string();
            board.history().append(Event::Trouble { reason });
        }
        board.outages().detach(&current.incarnation);
        // A dependency that the harness keeps down sees no connection end before it is up.
        board.outages().all_usable().await;
        if tokio::time::timeout(DRAIN, around.drain()).await.is_err() {
            board.history().append(Event::Trouble {
                reason: format!(
                    "the connections of {} had not ended {DRAIN:?} after its death",
                    current.incarnation
                ),
            });
        }
        let orphans = board.drained(&current.incarnation);
        self.expire_all(orphans).await;
        outcome
    }

    /// What nobody has becomes visible at once, as the end of its visibility would make
    /// it; in real time it is left to that.
    pub(super) async fn expire_all(&self, orphans: Vec<Delivery>) {
        if self.0.real_time {
            return;
        }
        for orphan in orphans {
            self.0.board.outages().usable(&orphan.dependency).await;
            let Delivery {
                dependency,
                queue,
                receipt,
                message_id,
                message,
                owner,
                ..
            } = orphan;
            let allowed = self
                .0
                .dependencies
                .hides(self.0.board.manifest(), &dependency, &queue);
            match self
                .0
                .dependencies
                .expire(&dependency, &queue, &receipt)
                .await
            {
                // The system itself finds it where it is.
                Ok(Expiry::Stays) => {}
                Ok(Expiry::Lost(call)) => {
                    self.0.board.history().append(Event::Deleted {
                        call,
                        author: Author::Process(owner),
                        receipt,
                        message_id: Some(message_id),
                        message,
                        kept: None,
                    });
                }
                Ok(Expiry::Visible) => {
                    self.0.board.history().append(Event::Expired {
                        receipt,
                        message_id,
                        message,
                        owner,
                        allowed,
                    });
                }
                Err(reason) => {
                    self.0.board.history().append(Event::Trouble {
                        reason: format!(
                            "a delivery of {owner} could not be made visible: {reason}"
                        ),
                    });
                }
            }
        }
    }
}

fn log_of(child: &Child) -> String {
    let mut paths = child.logs().paths();
    paths
        .next()
        .map_or_else(String::new, |path| path.display().to_string())
}
