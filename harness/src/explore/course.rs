//! The course of an exploration: two rehearsals without faults, then one for each point.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;

use super::baseline::Baseline;
use super::counterexample::Expected;
use super::effect::Strike;
use super::mark::Mark;
use super::point::{Plan, Point, Wish};
use super::results::{Outcome, Results, ResultsError};
use super::trial::{Order, Trial, rehearse};
use crate::gherkin::{Interrupt, Shard};
use crate::ids::{Incarnation, MessageName, RoleName};
use crate::rehearsal::{RehearsalError, Site, Title, Venue};
use crate::shape::Asked;

/// How often a point is tried at which the fault does not land.
const TRIES: u32 = 3;
/// Where the ids of databases begin: no small number is taken for one, and what a sequence
/// hands out differs between the two rehearsals without faults.
const OFFSETS: [i64; 2] = [700_000, 810_000];

/// Where nobody was seen to work on a message that it had deleted, whoever only receives for
/// so long does not either.
const REST: Duration = Duration::from_secs(1);

/// What is to be explored.
#[derive(Clone, Debug)]
pub struct Request {
    /// The run that it belongs to.
    pub run: String,
    /// How many messages each rehearsal submits.
    pub messages: u32,
    /// At whose calls faults strike.
    pub of: MessageName,
    /// Of which processes; none: of all.
    pub processes: Vec<RoleName>,
    /// What is done at each point.
    pub strikes: Vec<Strike>,
    /// Whether boundaries are tried that are one to a dying process.
    pub unmerged: bool,
    /// Whether faults strike at every passage.
    pub every: bool,
    /// How many pairs of faults are tried; none: no pairs.
    pub pairs: Option<usize>,
    /// When no further point is begun.
    pub until: Option<Duration>,
    /// How many rehearsals run side by side.
    pub jobs: NonZeroUsize,
    /// Which share of the points.
    pub shard: Option<Shard>,
    /// Every random choice comes from it.
    pub seed: u64,
    /// Where results and histories go.
    pub directory: PathBuf,
    /// What an earlier run found already, by [`Point::key`].
    pub done: BTreeMap<String, Outcome>,
}

/// Why an exploration came to no answer.
#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    /// A rehearsal could not be run.
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
    /// Results could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Without any fault something is wrong already.
    #[error("without any fault the system {}: {}", .mark.without_faults(), .reasons.join("; "))]
    Unsound {
        /// What became of it.
        mark: Mark,
        /// What was found.
        reasons: Vec<String>,
    },
    /// The manifest ignores what is not there.
    #[error("`explore.ignore` names `{name}`, which is no table, column, queue or service here{}", .nearest.as_ref().map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default())]
    Ignored {
        /// What.
        name: String,
        /// What is there.
        nearest: Option<String>,
    },
    /// There is nothing to try.
    #[error("no process made a call that could be struck{}", .of.as_ref().map(|of| format!(" for {of}")).unwrap_or_default())]
    NoPoints {
        /// The message that was to be struck.
        of: Option<MessageName>,
    },
    /// It was interrupted before there was anything to tell.
    #[error("interrupted")]
    Interrupted,
}

/// What happens now.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The points are known.
    Planned {
        /// All of them.
        plan: &'a Plan,
        /// How many are tried in this run.
        here: usize,
        /// How many of them an earlier run tried.
        done: usize,
        /// How long the rehearsals without faults took.
        took: Duration,
        /// What is not compared, in words.
        left_out: Vec<String>,
    },
    /// A point was tried.
    Tried {
        /// With which result.
        outcome: &'a Outcome,
        /// How many were tried by now.
        done: usize,
        /// Of how many.
        of: usize,
        /// How long the rest will take at this pace.
        left: Duration,
    },
}

/// What an exploration found.
#[derive(Debug)]
pub struct Course {
    /// All points.
    pub plan: Plan,
    /// What was found at each that was tried, in the order of the plan.
    pub outcomes: Vec<Outcome>,
    /// How long all points took.
    pub took: Duration,
    /// How long the rehearsals without faults took.
    pub survey: Duration,
    /// How many were tried in this run.
    pub tried: usize,
    /// Whether it was cut short.
    pub interrupted: bool,
}

/// Explores a system on a warm venue.
///
/// # Errors
/// When no answer can be had: see [`ExploreError`].
pub async fn explore(
    venue: &Arc<Venue>,
    request: &Request,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Course, ExploreError> {
    let begun = Instant::now();
    let explorer = Explorer {
        venue,
        request,
        messages: request.messages,
    };
    let (baseline, plan) = tokio::select! {
        found = explorer.without_faults() => found?,
        () = interrupt.raised() => return Err(ExploreError::Interrupted),
    };
    let mine: Vec<(usize, &Point)> = plan
        .points
        .iter()
        .enumerate()
        .filter(|(index, _)| {
            let shard = request.shard;
            shard.is_none_or(|shard| index % shard.of == shard.number - 1)
        })
        .collect();
    let mut results = Results::begin(&request.directory, &plan)?;
    let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
    let mut open = Vec::new();
    for (index, point) in mine {
        // What the harness failed at is tried again, and so is what was found with more or
        // fewer messages.
        let known = request.done.get(&point.key()).filter(|outcome| {
            let same = outcome.messages == request.messages || outcome.messages == 0;
            same && outcome.mark != Mark::Error
        });
        match known {
            Some(outcome) => {
                results.keep(outcome)?;
                outcomes.insert(index, outcome.clone());
            }
            None => open.push((index, point)),
        }
    }
    let all = outcomes.len() + open.len();
    tell(Progress::Planned {
        plan: &plan,
        here: all,
        done: outcomes.len(),
        took: begun.elapsed(),
        left_out: baseline.left_out(),
    });
    let survey = begun.elapsed();
    let begun = Instant::now();
    let mut trying = Trying {
        explorer: &explorer,
        baseline: &baseline,
        interrupt,
        results,
        before: outcomes.len(),
        todo: open.len(),
        all,
        outcomes,
        begun,
        stopped: false,
    };
    // A pair is tried once it is known that neither fault alone is too much.
    let (alone, pairs): (Vec<_>, Vec<_>) = open
        .into_iter()
        .partition(|(_, point)| point.then.is_none());
    let cut = trying.try_all(alone, tell).await? || trying.try_all(pairs, tell).await?;
    let Trying {
        outcomes,
        before,
        stopped,
        ..
    } = trying;
    let took = begun.elapsed();
    let tried = outcomes.len() - before;
    let complete = outcomes.len() >= all;
    let mut outcomes: Vec<Outcome> = outcomes.into_values().collect();
    if !cut {
        explorer.with_one_message(&mut outcomes, interrupt).await?;
    }
    Ok(Course {
        interrupted: cut || (!complete && !stopped),
        tried,
        outcomes,
        took,
        survey,
        plan,
    })
}

/// Points that are being tried.
struct Trying<'a> {
    explorer: &'a Explorer<'a>,
    baseline: &'a Baseline,
    interrupt: &'a Interrupt,
    results: Results,
    outcomes: BTreeMap<usize, Outcome>,
    before: usize,
    todo: usize,
    all: usize,
    begun: Instant,
    /// Whether its time was over before all were tried.
    stopped: bool,
}

impl Trying<'_> {
    /// Tries points side by side; true: it was cut short.
    async fn try_all(
        &mut self,
        open: Vec<(usize, &Point)>,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<bool, ExploreError> {
        let (explorer, baseline, interrupt) = (self.explorer, self.baseline, self.interrupt);
        let failed: BTreeSet<String> = self
            .outcomes
            .values()
            .filter(|outcome| !matches!(outcome.mark, Mark::Survived | Mark::Unreached))
            .map(|outcome| outcome.point.key())
            .collect();
        let limit = explorer.request.until.map(|until| self.begun + until);
        let count = open.len();
        let failed = &failed;
        let trying = open.into_iter().map(|(index, point)| async move {
            let over = limit.is_some_and(|limit| Instant::now() >= limit);
            if interrupt.is_raised() || over {
                return None;
            }
            let known = point
                .parts()
                .into_iter()
                .find(|part| point.then.is_some() && failed.contains(&part.key()));
            let outcome = match known {
                Some(part) => Outcome::known(point, &part),
                None => explorer.try_point(index, point, baseline).await,
            };
            Some((index, outcome))
        });
        let mut trying =
            futures::stream::iter(trying).buffer_unordered(explorer.request.jobs.get());
        let mut tried = 0;
        loop {
            let next = tokio::select! {
                next = trying.next() => next,
                () = interrupt.urgent() => return Ok(true),
            };
            let Some(next) = next else { break };
            let Some((index, outcome)) = next else {
                continue;
            };
            tried += 1;
            self.results.keep(&outcome)?;
            self.outcomes.insert(index, outcome);
            self.report(index, tell);
        }
        self.stopped |= tried < count && !interrupt.is_raised();
        Ok(interrupt.is_raised() && tried < count)
    }

    fn report(&self, index: usize, tell: &mut dyn FnMut(Progress<'_>)) {
        let tried = self.outcomes.len() - self.before;
        let elapsed = self.begun.elapsed();
        let per_point = elapsed.div_f64(f64::from(u32::try_from(tried).unwrap_or(1).max(1)));
        let rest = u32::try_from(self.todo.saturating_sub(tried)).unwrap_or_default();
        let left = per_point.saturating_mul(rest);
        let until = self.explorer.request.until;
        tell(Progress::Tried {
            outcome: &self.outcomes[&index],
            done: self.outcomes.len(),
            of: self.all,
            left: until.map_or(left, |until| left.min(until.saturating_sub(elapsed))),
        });
    }
}

#[derive(Clone, Copy)]
struct Explorer<'a> {
    venue: &'a Arc<Venue>,
    request: &'a Request,
    /// How many messages each rehearsal submits.
    messages: u32,
}

impl Explorer<'_> {
    fn messages(&self) -> Vec<MessageName> {
        let names = (1..=self.messages).map(|number| format!("M{number}"));
        names.map(MessageName::new).collect()
    }

    fn order(&self, name: &str, offset: i64, point: Option<&Point>) -> Order {
        Order {
            title: Title {
                run: self.request.run.clone(),
                scenario: point.map_or_else(|| "no fault".to_owned(), Point::key),
                place: name.to_owned(),
                seed: self.request.seed,
                real_time: false,
            },
            messages: self.messages(),
            faults: point.map(Point::faults).unwrap_or_default(),
            instances: self.company(point.map_or(&[], std::slice::from_ref)),
            offset,
            directory: self.request.directory.join("points").join(name),
            recorded: false,
            rest: None,
        }
    }

    /// Two instances at least of everybody who takes messages from a queue.
    fn in_company(&self) -> Vec<(RoleName, u32)> {
        let processes = self.venue.manifest().processes.iter();
        let consumers = processes.filter(|(_, process)| !process.consumes.is_empty());
        consumers
            .filter(|(_, process)| process.instances > 0)
            .map(|(role, process)| (role.clone(), process.instances.max(2)))
            .collect()
    }

    /// Whoever is to take what others lose needs to be there: a second instance.
    fn company(&self, points: &[Point]) -> Vec<(RoleName, u32)> {
        let mut roles: BTreeSet<RoleName> = BTreeSet::new();
        for part in points.iter().flat_map(Point::parts) {
            if part.strike.gives_away() {
                roles.insert(part.class.boundary.process);
            }
        }
        let processes = &self.venue.manifest().processes;
        let several = roles.into_iter().filter_map(|role| {
            let instances = processes.get(&role)?.instances;
            Some((role, instances.max(2)))
        });
        several.collect()
    }

    /// Two rehearsals without faults: what is durable then, and where faults can strike.
    async fn without_faults(&self) -> Result<(Baseline, Plan), ExploreError> {
        let manifest = self.venue.manifest();
        let name = |number: u32| format!("no-fault-{number}-of-{}", self.messages);
        let first = rehearse(self.venue, self.order(&name(1), OFFSETS[0], None));
        let mut company = self.order(&name(2), OFFSETS[1], None);
        if self
            .request
            .strikes
            .iter()
            .any(|strike| strike.gives_away())
        {
            // What tells instances apart is not compared.
            company.instances = self.in_company();
        }
        let second = rehearse(self.venue, company);
        let (first, second) = futures::join!(first, second);
        let (first, second) = (first?, second?);
        for trial in [&first, &second] {
            let (mark, reasons) = Mark::of(trial, &[]);
            if mark != Mark::Survived {
                return Err(ExploreError::Unsound { mark, reasons });
            }
        }
        let wish = Wish {
            of: &self.request.of,
            processes: &self.request.processes,
            strikes: &self.request.strikes,
            unmerged: self.request.unmerged,
            every: self.request.every,
            pairs: self.request.pairs.map(|most| (most, self.request.seed)),
        };
        let plan = Plan::of(manifest, &first.survey, &wish);
        if plan.points.is_empty() {
            let of = Some(self.request.of.clone());
            return Err(ExploreError::NoPoints { of });
        }
        let mut baseline = Baseline::of(&manifest.explore, first.durable, &second.durable);
        if [&first.survey, &second.survey]
            .into_iter()
            .all(|survey| deletes_last(survey))
        {
            baseline.rest = Some(REST);
        }
        if let Some((name, nearest)) = baseline.unknown(manifest).into_iter().next() {
            return Err(ExploreError::Ignored { name, nearest });
        }
        Ok((baseline, plan))
    }

    /// Tells failures with one message where one is enough.
    async fn with_one_message(
        &self,
        outcomes: &mut [Outcome],
        interrupt: &Interrupt,
    ) -> Result<(), ExploreError> {
        let enough = self.messages > 1 && self.request.of.as_str() == "M1";
        if !enough || !outcomes.iter().any(|outcome| outcome.mark.is_failure()) {
            return Ok(());
        }
        let alone = Explorer {
            messages: 1,
            ..*self
        };
        // Alone the message may take another course, and there is nothing to compare with.
        let Ok((baseline, _)) = alone.without_faults().await else {
            return Ok(());
        };
        let failures = outcomes.iter_mut().enumerate();
        for (index, outcome) in failures.filter(|(_, outcome)| outcome.mark.is_failure()) {
            if interrupt.is_raised() {
                return Err(ExploreError::Interrupted);
            }
            let again = alone.try_point(index, &outcome.point, &baseline).await;
            if again.mark == outcome.mark {
                *outcome = again;
            }
        }
        Ok(())
    }

    /// Tries a point; one at which the fault does not land is tried again. What cannot be
    /// run is an error of this point alone.
    async fn try_point(&self, index: usize, point: &Point, baseline: &Baseline) -> Outcome {
        let begun = Instant::now();
        let mut tries = 0;
        loop {
            tries += 1;
            let fewer = if self.messages < self.request.messages {
                "alone-"
            } else {
                ""
            };
            let name = format!("{fewer}{:04}-{tries}", index + 1);
            let mut order = self.order(&name, OFFSETS[0], Some(point));
            let parts = point.parts();
            let begins_anew = parts.iter().all(|part| part.strike.ends_its_process());
            order.rest = baseline.rest.filter(|_| begins_anew);
            let directory = order.directory.clone();
            let trial = match rehearse(self.venue, order).await {
                Ok(trial) => trial,
                Err(error) => {
                    return Outcome::error(point, &error.to_string(), tries, begun.elapsed());
                }
            };
            let differences = baseline.differences(&trial.durable, &self.excused(&trial));
            let (mut mark, reasons) = Mark::of(&trial, &differences);
            if matches!(mark, Mark::Survived | Mark::Unproven) && trial.unreached {
                mark = Mark::Unreached;
            }
            if matches!(mark, Mark::Survived | Mark::Unreached) {
                // Of what went well nobody reads the history; there may be thousands.
                let _ = fs::remove_dir_all(&directory);
            }
            if mark == Mark::Unproven && tries < TRIES {
                continue;
            }
            let expected = Expected::of(baseline, &differences);
            return Outcome {
                point: point.clone(),
                messages: self.messages,
                mark,
                reasons,
                tries,
                took: begun.elapsed(),
                history: (!matches!(mark, Mark::Survived | Mark::Unreached))
                    .then_some(trial.history),
                expected,
            };
        }
    }

    /// Messages with an end that the manifest allows under faults; one that is struck every
    /// time may also be put aside for a person.
    fn excused(&self, trial: &Trial) -> Vec<MessageName> {
        let manifest = self.venue.manifest();
        let allowed: BTreeSet<&String> = manifest.explore.allowed.iter().collect();
        let ends = trial.ends.iter();
        let excused = ends.filter(|(_, end)| allowed.contains(end));
        let mut excused: Vec<MessageName> = excused.map(|(message, _)| message.clone()).collect();
        let aside = || {
            let queues = manifest.dead_letter_queues();
            queues.iter().any(|queue| {
                trial
                    .durable
                    .queues
                    .get(queue)
                    .is_some_and(|count| *count > 0)
            })
        };
        if trial.for_ever && !excused.contains(&self.request.of) && aside() {
            excused.push(self.request.of.clone());
        }
        excused
    }
}

/// Whether nobody did anything but receive once it had deleted its message: then whoever is
/// started anew does not work on in silence either.
fn deletes_last(survey: &[Site]) -> bool {
    let mut deleted: BTreeSet<&Incarnation> = BTreeSet::new();
    for site in survey {
        let action = match &site.shape.asked {
            Asked::Action { action, .. } => action.as_str(),
            _ => "",
        };
        match action {
            "DeleteMessage" | "DeleteMessageBatch" => _ = deleted.insert(&site.incarnation),
            "ReceiveMessage" => {}
            _ if deleted.contains(&site.incarnation) => return false,
            _ => {}
        }
    }
    !deleted.is_empty()
}
