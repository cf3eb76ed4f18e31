//! What a report draws of a rehearsal: lanes, what lasts on them, and what happens at a
//! moment. Small enough to be kept of every scenario.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::ended::{self, Place};
use super::line::{Kind, Line, Weight, lines};
use super::spans::{self, Span};
use crate::history::Event;
use crate::ids::MessageName;
use crate::judge::Evidence;

/// The name of a record's file beside its history.
pub const RECORD: &str = "timeline.json.gz";

/// What is drawn of one rehearsal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub version: u32,
    /// Microseconds from its begin to its end.
    pub took_us: u64,
    /// How many entries its history has.
    pub entries: u64,
    /// All messages, in the order of their first entry.
    pub messages: Vec<MessageName>,
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
    /// What lasts.
    pub spans: Vec<Span>,
    /// What happens at a moment.
    pub marks: Vec<Moment>,
    /// Where every message was at the end.
    pub places: Vec<Place>,
    /// The figures that were counted last.
    pub figures: Vec<Figure>,
    /// What processes wrote last that nobody had told to end.
    pub logs: Vec<Log>,
}

/// A lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// What runs along it.
    pub of: LaneOf,
    /// Its name.
    pub name: String,
}

/// What runs along a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaneOf {
    /// The scenario and the harness.
    Harness,
    /// The client and operators.
    Client,
    /// One incarnation of a process.
    Process,
    /// A queue.
    Queue,
    /// Another dependency.
    Dependency,
}

/// An entry on its lane: number, microseconds, lane, kind, whether it disturbs, what, and
/// the positions of its messages. An array in JSON, because there are many.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Moment(
    pub u64,
    pub u64,
    pub usize,
    pub Kind,
    pub bool,
    pub String,
    pub Vec<usize>,
);

/// A figure as the harness counted it and as the system says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// The total, with its label in parentheses.
    pub name: String,
    /// What the harness counted.
    pub witness: Option<i64>,
    /// What the system says.
    pub claim: Option<i64>,
}

/// What a process wrote last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The entry at which it was read.
    pub seq: u64,
    /// Whose.
    pub process: String,
    /// The file that holds all of it.
    pub path: String,
    /// The last lines.
    pub lines: Vec<String>,
}

/// The lanes while they are found.
pub(super) struct Lanes {
    lanes: BTreeMap<(LaneOf, String), usize>,
    order: Vec<Lane>,
}

impl Lanes {
    fn new() -> Self {
        Self {
            lanes: BTreeMap::new(),
            order: Vec::new(),
        }
    }

    /// The lane of this name, which is made where there is none.
    pub(super) fn at(&mut self, of: LaneOf, name: &str) -> usize {
        let key = (of, name.to_owned());
        *self.lanes.entry(key).or_insert_with(|| {
            self.order.push(Lane {
                of,
                name: name.to_owned(),
            });
            self.order.len() - 1
        })
    }
}

impl Record {
    /// Draws a history.
    pub fn of(evidence: Evidence<'_>) -> Self {
        let told = lines(evidence.entries);
        let mut messages: Vec<MessageName> = Vec::new();
        let mut positions: HashMap<MessageName, usize> = HashMap::new();
        for message in told.iter().flat_map(|line| &line.messages) {
            positions.entry(message.clone()).or_insert_with(|| {
                messages.push(message.clone());
                messages.len() - 1
            });
        }
        let mut lanes = Lanes::new();
        lanes.at(LaneOf::Harness, "harness");
        lanes.at(LaneOf::Client, "client");
        let spans = spans::of(evidence, &mut lanes, &positions);
        let marks = told
            .iter()
            .zip(evidence.entries)
            .filter(|(line, _)| line.weight > Weight::Noise)
            .map(|(line, entry)| moment(line, &entry.event, evidence, &mut lanes, &positions))
            .collect();
        let mut record = Self {
            version: 1,
            took_us: evidence.entries.last().map_or(0, |entry| entry.at_us),
            entries: evidence.entries.len() as u64,
            messages,
            lanes: lanes.order,
            spans,
            marks,
            places: ended::ended(evidence),
            figures: figures(evidence),
            logs: logs(evidence),
        };
        record.sort_lanes();
        record
    }

    /// Harness, client, processes by name, queues, other dependencies.
    fn sort_lanes(&mut self) {
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        let key = |lane: &Lane| {
            let (process, start) = lane.name.split_once('#').unwrap_or((&lane.name, "0"));
            (
                lane.of,
                process.to_owned(),
                start.parse::<u32>().unwrap_or(0),
            )
        };
        order.sort_by_key(|index| key(&self.lanes[*index]));
        let mut new = vec![0; order.len()];
        for (position, index) in order.iter().enumerate() {
            new[*index] = position;
        }
        self.lanes = order
            .iter()
            .map(|index| self.lanes[*index].clone())
            .collect();
        for mark in &mut self.marks {
            mark.2 = new[mark.2];
        }
        for span in &mut self.spans {
            span.0 = new[span.0];
        }
    }

    /// With what each incarnation wrote last, from the files of its output.
    #[must_use]
    pub fn with_output(mut self, processes: &Path, mask: impl Fn(&str) -> String) -> Self {
        const LINES: usize = 15;
        for lane in self.lanes.iter().filter(|lane| lane.of == LaneOf::Process) {
            let path = processes.join(format!("{}.log", lane.name));
            let Ok(output) = std::fs::read(&path) else {
                continue;
            };
            if self.logs.iter().any(|log| log.process == lane.name) || output.is_empty() {
                continue;
            }
            let output = String::from_utf8_lossy(&output);
            let mut lines: Vec<String> = output.lines().rev().take(LINES).map(&mask).collect();
            lines.reverse();
            let ended =
                |mark: &&Moment| mark.3 == Kind::Exited && self.lanes[mark.2].name == lane.name;
            self.logs.push(Log {
                seq: self.marks.iter().find(ended).map_or(0, |mark| mark.0),
                process: lane.name.clone(),
                path: path.display().to_string(),
                lines,
            });
        }
        self
    }

    /// Without the calls that disturb nobody: of a scenario that passed, where messages
    /// went is enough.
    #[must_use]
    pub fn without_calls(mut self) -> Self {
        self.marks
            .retain(|Moment(_, _, _, kind, is_grave, ..)| *kind != Kind::Call || *is_grave);
        self
    }

    /// Its file's content.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn compressed(&self) -> io::Result<Vec<u8>> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let json = serde_json::to_vec(self).map_err(io::Error::other)?;
        encoder.write_all(&json)?;
        encoder.finish()
    }

    /// Reads it back from its file.
    ///
    /// # Errors
    /// When there is none, or it is none.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut json = String::new();
        GzDecoder::new(std::fs::File::open(path)?).read_to_string(&mut json)?;
        serde_json::from_str(&json).map_err(io::Error::other)
    }
}

fn moment(
    told: &Line,
    event: &Event,
    evidence: Evidence<'_>,
    lanes: &mut Lanes,
    positions: &HashMap<MessageName, usize>,
) -> Moment {
    let lane = match event {
        Event::Armed {
            outage: Some(dependency),
            ..
        } => spans::lane_of_dependency(evidence, lanes, dependency),
        Event::Performed { dependency, .. } => {
            spans::lane_of_dependency(evidence, lanes, dependency)
        }
        _ => match &told.process {
            Some(process) => lanes.at(LaneOf::Process, &process.to_string()),
            None if told.who == "client" || told.who == "operator" => {
                lanes.at(LaneOf::Client, "client")
            }
            None => lanes.at(LaneOf::Harness, "harness"),
        },
    };
    let messages = told.messages.iter().map(|message| positions[message]);
    let is_grave = told.weight == Weight::Grave;
    Moment(
        told.seq,
        told.at_us,
        lane,
        told.kind,
        is_grave,
        told.what.clone(),
        messages.collect(),
    )
}

fn figures(evidence: Evidence<'_>) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for entry in evidence.entries {
        let Event::Counted {
            total,
            label,
            source,
            value,
        } = &entry.event
        else {
            if matches!(entry.event, Event::Quiet) {
                figures.clear();
            }
            continue;
        };
        let name = match label {
            Some(label) => format!("{total} ({label})"),
            None => total.clone(),
        };
        let position = figures.iter().position(|figure| figure.name == name);
        let position = position.unwrap_or_else(|| {
            figures.push(Figure {
                name,
                ..Figure::default()
            });
            figures.len() - 1
        });
        let side = match source.as_str() {
            "claim" => &mut figures[position].claim,
            _ => &mut figures[position].witness,
        };
        *side = Some(*value);
    }
    figures
}

fn logs(evidence: Evidence<'_>) -> Vec<Log> {
    let entries = evidence.entries.iter();
    entries
        .filter_map(|entry| match &entry.event {
            Event::LastWords {
                incarnation,
                lines,
                log,
            } => Some(Log {
                seq: entry.seq,
                process: incarnation.to_string(),
                path: log.clone(),
                lines: lines.clone(),
            }),
            _ => None,
        })
        .collect()
}
