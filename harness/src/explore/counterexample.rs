//! A counterexample: a feature of its own that shows what an exploration found at a point.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::baseline::Baseline;
use super::difference::{Difference, Place};
use super::point::Point;
use super::results::Outcome;
use crate::gherkin::{Exit, RunResult};

/// What should be durable at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// A table, a service or a queue: `table parcels`.
    pub place: String,
    /// What is there without faults; empty: nothing.
    pub lines: Vec<String>,
}

impl Expected {
    pub(super) fn of(baseline: &Baseline, differences: &[Difference]) -> Vec<Self> {
        let places = differences.iter().map(|difference| &difference.place);
        places
            .map(|place| Self {
                place: match place {
                    Place::Table(name) => format!("table {name}"),
                    Place::Service(name) => format!("service {name}"),
                    Place::Queue(name) => format!("queue {name}"),
                },
                lines: baseline.expected(place),
            })
            .collect()
    }
}

/// Whether a counterexample shows again what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// It failed again.
    Confirmed,
    /// It passed: what was found does not happen each time.
    Unsteady,
    /// It could not be run, or proved nothing.
    Unproven,
}

/// A counterexample that was run once more.
#[derive(Clone, Debug)]
pub struct Proven {
    /// Its feature.
    pub feature: PathBuf,
    /// What came of it.
    pub proof: Proof,
    /// The history of that run.
    pub history: Option<PathBuf>,
}

/// Writes the feature of each outcome into a directory; gives their files in order.
///
/// # Errors
/// When they cannot be written.
pub fn write<'o>(
    directory: &Path,
    outcomes: impl IntoIterator<Item = &'o Outcome>,
) -> std::io::Result<Vec<PathBuf>> {
    fs::create_dir_all(directory)?;
    let mut files = Vec::new();
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let slug: String = outcome
            .point
            .key()
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .collect();
        let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
        let slug: String = words.join("-").chars().take(60).collect();
        let file = directory.join(format!("{:02}-{slug}.feature", number + 1));
        fs::write(&file, feature(outcome.messages, outcome))?;
        files.push(file);
    }
    Ok(files)
}

/// The feature of an outcome.
pub(super) fn feature(messages: u32, outcome: &Outcome) -> String {
    let lines: Vec<String> = outcome.point.parts().iter().flat_map(struck).collect();
    let declared = match messages {
        1 => "message M1".to_owned(),
        many => format!("messages M1 to M{many}"),
    };
    let mut text = format!(
        "Feature: found by exploring: {}\n\n  Scenario: {}\n",
        outcome.mark,
        lines.join(", and ").replace('"', "'"),
    );
    let _ = writeln!(text, "    Given the {declared}");
    let _ = writeln!(text, "    And databases hand out large numbers");
    for part in outcome.point.parts() {
        if part.strike.gives_away() {
            let process = &part.class.boundary.process;
            let line = format!("    And 2 instances of the {process} run\n");
            if !text.contains(&line) {
                text += &line;
            }
        }
    }
    for line in &lines {
        let _ = writeln!(text, "    And {line}");
    }
    for number in 1..=messages {
        let keyword = if number == 1 { "When" } else { "And" };
        let _ = writeln!(
            text,
            "    {keyword} the client submits M{number} until it is told its job"
        );
    }
    let _ = writeln!(text, "    Then everything is quiet");
    if !outcome.expected.is_empty() {
        let _ = writeln!(text, "    And this is durable");
        for expected in &outcome.expected {
            let nothing = [NOTHING.to_owned()];
            let lines = if expected.lines.is_empty() {
                &nothing
            } else {
                expected.lines.as_slice()
            };
            for line in lines {
                let _ = writeln!(
                    text,
                    "      | {} | {} |",
                    escaped(&expected.place),
                    escaped(line)
                );
            }
        }
    }
    text
}

/// What a feature says of what is done at a point, for each effect.
fn struck(point: &Point) -> Vec<String> {
    let boundary = &point.class.boundary;
    let whose = boundary
        .message
        .as_ref()
        .map_or_else(|| "any message".to_owned(), ToString::to_string);
    let times = match boundary.nth {
        _ if point.every => "every time".to_owned(),
        1 => "once".to_owned(),
        nth => format!("on time {nth}"),
    };
    let phrases = point.strike.phrases(boundary.side, point.protocol());
    let lines = phrases.into_iter().map(|phrase| {
        format!(
            "the {} {phrase} \"{}\" of {whose} {times}",
            boundary.process, boundary.call
        )
    });
    lines.collect()
}

/// What stands in a table where nothing should be.
pub(crate) const NOTHING: &str = "nothing";

/// A text as a cell of a table in a feature.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|")
}

/// What a run of the features proved, in the order of the files.
pub fn proofs(files: &[PathBuf], result: &RunResult) -> Vec<Proven> {
    files
        .iter()
        .map(|file| {
            let found = result
                .scenarios
                .iter()
                .find(|(scenario, _)| Path::new(&scenario.path) == file);
            let proof = match found.map(|(_, outcome)| outcome.verdict) {
                Some(Exit::Failed) => Proof::Confirmed,
                Some(Exit::Passed) => Proof::Unsteady,
                _ => Proof::Unproven,
            };
            Proven {
                feature: file.clone(),
                proof,
                history: found.and_then(|(_, outcome)| outcome.history.clone()),
            }
        })
        .collect()
}
