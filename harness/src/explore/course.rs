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
use crate::ids::{MessageName, RoleName};
use crate::rehearsal::{RehearsalError, Title, Venue};

/// How often a point is tried at which the fault does not land.
const TRIES: u32 = 3;
/// Where the ids of databases begin: no small number is taken for one, and what a sequence
/// hands out differs between the two rehearsals without faults.
const OFFSETS: [i64; 2] = [700_000, 810_000];

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
    let explorer = Explorer { venue, request };
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
        match request.done.get(&point.key()) {
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
    let begun = Instant::now();
    let (before, todo) = (outcomes.len(), open.len());
    let trying = open.into_iter().map(|(index, point)| {
        let (explorer, baseline) = (&explorer, &baseline);
        async move {
            if interrupt.is_raised() {
                return None;
            }
            Some((index, explorer.try_point(index, point, baseline).await))
        }
    });
    let mut trying = futures::stream::iter(trying).buffer_unordered(request.jobs.get());
    loop {
        let next = tokio::select! {
            next = trying.next() => next,
            () = interrupt.urgent() => break,
        };
        let Some(next) = next else { break };
        let Some((index, outcome)) = next else {
            continue;
        };
        results.keep(&outcome)?;
        let outcome = outcomes.entry(index).or_insert(outcome);
        let outcome = outcome.clone();
        let tried = outcomes.len() - before;
        let per_point = begun
            .elapsed()
            .div_f64(f64::from(u32::try_from(tried).unwrap_or(1)));
        tell(Progress::Tried {
            outcome: &outcome,
            done: outcomes.len(),
            of: all,
            left: per_point.saturating_mul(u32::try_from(todo - tried).unwrap_or_default()),
        });
    }
    drop(trying);
    Ok(Course {
        interrupted: outcomes.len() < all,
        tried: outcomes.len() - before,
        outcomes: outcomes.into_values().collect(),
        took: begun.elapsed(),
        plan,
    })
}

struct Explorer<'a> {
    venue: &'a Arc<Venue>,
    request: &'a Request,
}

impl Explorer<'_> {
    fn messages(&self) -> Vec<MessageName> {
        let names = (1..=self.request.messages).map(|number| format!("M{number}"));
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
            faults: point.map(Point::fault).into_iter().collect(),
            offset,
            directory: self.request.directory.join("points").join(name),
            recorded: false,
        }
    }

    /// Two rehearsals without faults: what is durable then, and where faults can strike.
    async fn without_faults(&self) -> Result<(Baseline, Plan), ExploreError> {
        let manifest = self.venue.manifest();
        let first = rehearse(self.venue, self.order("no-fault-1", OFFSETS[0], None));
        let second = rehearse(self.venue, self.order("no-fault-2", OFFSETS[1], None));
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
        };
        let plan = Plan::of(manifest, &first.survey, &wish);
        if plan.points.is_empty() {
            let of = Some(self.request.of.clone());
            return Err(ExploreError::NoPoints { of });
        }
        let baseline = Baseline::of(&manifest.explore, first.durable, &second.durable);
        if let Some((name, nearest)) = baseline.unknown(manifest).into_iter().next() {
            return Err(ExploreError::Ignored { name, nearest });
        }
        Ok((baseline, plan))
    }

    /// Tries a point; one at which the fault does not land is tried again. What cannot be
    /// run is an error of this point alone.
    async fn try_point(&self, index: usize, point: &Point, baseline: &Baseline) -> Outcome {
        let begun = Instant::now();
        let mut tries = 0;
        loop {
            tries += 1;
            let name = format!("{:04}-{tries}", index + 1);
            let order = self.order(&name, OFFSETS[0], Some(point));
            let directory = order.directory.clone();
            let trial = match rehearse(self.venue, order).await {
                Ok(trial) => trial,
                Err(error) => {
                    return Outcome::error(point, &error.to_string(), tries, begun.elapsed());
                }
            };
            let differences = baseline.differences(&trial.durable, &self.excused(&trial));
            let (mark, reasons) = Mark::of(&trial, &differences);
            if mark == Mark::Survived {
                // Of what went well nobody reads the history; there may be thousands.
                let _ = fs::remove_dir_all(&directory);
            }
            if mark == Mark::Unproven && tries < TRIES {
                continue;
            }
            let expected = Expected::of(baseline, &differences);
            return Outcome {
                point: point.clone(),
                mark,
                reasons,
                tries,
                took: begun.elapsed(),
                history: (mark != Mark::Survived).then_some(trial.history),
                expected,
            };
        }
    }

    /// Messages with an end that the manifest allows under faults.
    fn excused(&self, trial: &Trial) -> Vec<MessageName> {
        let allowed: BTreeSet<&String> = self.venue.manifest().explore.allowed.iter().collect();
        let ends = trial.ends.iter();
        let excused = ends.filter(|(_, end)| allowed.contains(end));
        excused.map(|(message, _)| message.clone()).collect()
    }
}
