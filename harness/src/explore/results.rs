//! What was found, written as it comes: an interrupted exploration goes on where it was,
//! and shards are put together.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counterexample::Expected;
use super::mark::Mark;
use super::point::{Plan, Point};

const PLAN: &str = "plan.json";
const POINTS: &str = "points.jsonl";

/// What was found at a point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Where, and what was done.
    pub point: Point,
    /// How many messages were submitted; nought: it was not tried.
    #[serde(default)]
    pub messages: u32,
    /// What became of the system.
    pub mark: Mark,
    /// What was found.
    pub reasons: Vec<String>,
    /// How often it was tried until the fault landed.
    pub tries: u32,
    /// How long that took.
    pub took: Duration,
    /// The history, unless all went well.
    pub history: Option<PathBuf>,
    /// What should have been durable, where something else is.
    pub expected: Vec<Expected>,
}

impl Outcome {
    /// A pair of which one fault alone is too much already.
    pub(super) fn known(point: &Point, part: &Point) -> Self {
        Self {
            mark: Mark::Unreached,
            reasons: vec![format!("not tried: {} is too much alone", part.key())],
            ..Self::error(point, "", 0, Duration::ZERO)
        }
    }

    /// A point at which the harness or its environment failed.
    pub(super) fn error(point: &Point, reason: &str, tries: u32, took: Duration) -> Self {
        Self {
            point: point.clone(),
            messages: 0,
            mark: Mark::Error,
            reasons: vec![reason.to_owned()],
            tries,
            took,
            history: None,
            expected: Vec::new(),
        }
    }
}

/// Results could not be kept, or read again.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A file cannot be used.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file holds something else.
    #[error("{} holds no results of an exploration (line {line}): {reason}", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Why.
        reason: String,
    },
    /// Two directories are of different explorations.
    #[error("{} and {} are of different explorations: they have other points", .first.display(), .second.display())]
    Other {
        /// The one.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
}

/// The results of one run, on disk.
pub struct Results {
    path: PathBuf,
    file: File,
}

impl Results {
    /// Begins to keep results in a directory.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub fn begin(directory: &Path, plan: &Plan) -> Result<Self, ResultsError> {
        fs::create_dir_all(directory).map_err(|source| failed("make", directory, source))?;
        let planned = directory.join(PLAN);
        let text = serde_json::to_string_pretty(plan).expect("a plan is plain data");
        fs::write(&planned, text).map_err(|source| failed("write", &planned, source))?;
        let path = directory.join(POINTS);
        let file = File::create(&path).map_err(|source| failed("write", &path, source))?;
        Ok(Self { path, file })
    }

    /// Keeps what was found at a point.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&mut self, outcome: &Outcome) -> Result<(), ResultsError> {
        let mut line = serde_json::to_string(outcome).expect("an outcome is plain data");
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|source| failed("write", &self.path, source))
    }
}

/// Reads the plan that a run left.
///
/// # Errors
/// When it is none.
pub fn read_plan(directory: &Path) -> Result<Plan, ResultsError> {
    let path = directory.join(PLAN);
    let text = fs::read_to_string(&path).map_err(|source| failed("read", &path, source))?;
    serde_json::from_str(&text).map_err(|error| ResultsError::Content {
        path,
        line: error.line(),
        reason: error.to_string(),
    })
}

/// Reads what a run found, by [`Point::key`]. A last line that was cut off by its end is
/// left out.
///
/// # Errors
/// When the directory holds no results.
pub fn read_outcomes(directory: &Path) -> Result<BTreeMap<String, Outcome>, ResultsError> {
    let path = directory.join(POINTS);
    let text = fs::read_to_string(&path).map_err(|source| failed("read", &path, source))?;
    let mut outcomes = BTreeMap::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (index, line) in whole.lines().enumerate() {
        let outcome: Outcome =
            serde_json::from_str(line).map_err(|error| ResultsError::Content {
                path: path.clone(),
                line: index + 1,
                reason: error.to_string(),
            })?;
        outcomes.insert(outcome.point.key(), outcome);
    }
    Ok(outcomes)
}

/// Puts the results of several runs of one exploration together, in the order of its plan.
///
/// # Errors
/// When one is none, or is of another exploration.
pub fn merge(directories: &[PathBuf]) -> Result<(Plan, Vec<Outcome>), ResultsError> {
    let mut first: Option<(&PathBuf, Plan)> = None;
    let mut found: BTreeMap<String, Outcome> = BTreeMap::new();
    for directory in directories {
        let plan = read_plan(directory)?;
        match &first {
            None => first = Some((directory, plan)),
            Some((earlier, known)) if keys(known) != keys(&plan) => {
                return Err(ResultsError::Other {
                    first: (*earlier).clone(),
                    second: directory.clone(),
                });
            }
            Some(_) => {}
        }
        for (key, outcome) in read_outcomes(directory)? {
            let graver = found
                .get(&key)
                .is_none_or(|known| known.mark < outcome.mark);
            if graver {
                found.insert(key, outcome);
            }
        }
    }
    let plan = first.map(|(_, plan)| plan).unwrap_or_default();
    let outcomes = plan
        .points
        .iter()
        .filter_map(|point| {
            // Each shard found by itself for what a point stands; one of them is told.
            let outcome = found.get(&point.key())?.clone();
            let point = point.clone();
            Some(Outcome { point, ..outcome })
        })
        .collect();
    Ok((plan, outcomes))
}

fn keys(plan: &Plan) -> Vec<String> {
    plan.points.iter().map(Point::key).collect()
}

fn failed(what: &'static str, path: &Path, source: std::io::Error) -> ResultsError {
    ResultsError::File {
        what,
        path: path.to_owned(),
        source,
    }
}
