//! `report.html`: a run in one file that needs nothing else, for people. Each scenario that
//! kept a record of its course opens into a timeline.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use serde::Serialize;

use super::{Repeat, Report, ReportError, Target, counts};
use crate::gherkin::{
    Evidence, Exit, RunEvent, RunInfo, RunResult, ScenarioInfo, ScenarioOutcome, seconds,
};
use crate::timeline::RECORD;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const TIMELINE: &str = include_str!("timeline.js");
const SCRIPT: &str = include_str!("page.js");

/// Timelines take at most so many bytes of the file: beyond, those of scenarios that
/// passed are left out, the largest first.
const ROOM: usize = 4_000_000;

/// Writes the page.
pub struct Html {
    to: Target,
    repeat: Repeat,
    run: Option<Arc<RunInfo>>,
}

#[derive(Serialize)]
struct Whole<'a> {
    run: &'a str,
    seed: u64,
    directory: String,
    system: &'a str,
    exit: Exit,
    meaning: &'static str,
    #[serde(serialize_with = "seconds")]
    took: std::time::Duration,
    counts: BTreeMap<String, usize>,
    evidence: &'a [Evidence],
    remarks: &'a [String],
    scenarios: Vec<Scenario<'a>>,
}

#[derive(Serialize)]
struct Scenario<'a> {
    place: String,
    repeat: String,
    /// The command that shows its course.
    show: Option<String>,
    /// Why there is no timeline.
    left_out: Option<&'static str>,
    #[serde(flatten)]
    info: &'a ScenarioInfo,
    #[serde(flatten)]
    outcome: &'a ScenarioOutcome,
}

impl Html {
    /// Writes there.
    pub fn new(to: impl Into<Target>, repeat: Repeat) -> Self {
        Self {
            to: to.into(),
            repeat,
            run: None,
        }
    }

    fn page(&self, run: &RunInfo, result: &RunResult) -> Result<String, serde_json::Error> {
        let folders: Vec<Option<PathBuf>> = result
            .scenarios
            .iter()
            .map(|(_, outcome)| folder(run, outcome))
            .collect();
        let timelines = timelines(result, &folders);
        let scenarios = result.scenarios.iter().zip(&folders).enumerate();
        let scenarios = scenarios.map(|(index, ((info, outcome), folder))| Scenario {
            place: info.selector(),
            repeat: self.repeat.of(info),
            show: folder
                .as_ref()
                .map(|folder| format!("rehearse show {}", folder.display())),
            left_out: left_out(outcome, timelines.contains_key(&index)),
            info,
            outcome,
        });
        let whole = Whole {
            run: run.id.as_str(),
            seed: run.seed,
            directory: result.directory.display().to_string(),
            system: &run.system,
            exit: result.exit,
            meaning: result.exit.meaning(),
            took: result.took,
            counts: counts(result),
            evidence: &result.evidence,
            remarks: &result.remarks,
            scenarios: scenarios.collect(),
        };
        // What is not text could otherwise end the element that holds it.
        let data = serde_json::to_string(&whole)?.replace('<', "\\u003c");
        let mut packed = String::new();
        for (index, timeline) in &timelines {
            let _ = writeln!(
                packed,
                "<script type=\"application/gzip\" id=\"t{index}\">{timeline}</script>"
            );
        }
        let title = format!("Rehearsal {}: {}", run.id, result.exit);
        Ok(filled(&[
            ("{{TITLE}}", &title),
            ("{{STYLE}}", STYLE),
            ("{{RUN}}", &data),
            ("{{TIMELINES}}", &packed),
            ("{{SCRIPT}}", &format!("{TIMELINE}\n{SCRIPT}")),
        ]))
    }
}

/// The page with its places filled, each once and in this order: nothing that is put in is
/// read as a place.
fn filled(values: &[(&str, &str)]) -> String {
    let size = values.iter().map(|(_, value)| value.len()).sum::<usize>();
    let mut page = String::with_capacity(PAGE.len() + size);
    let mut rest = PAGE;
    for (place, value) in values {
        let (before, after) = rest.split_once(place).expect("the page has this place");
        page.push_str(before);
        page.push_str(value);
        rest = after;
    }
    page.push_str(rest);
    page
}

/// Where a scenario's files are: in the run's own folder, wherever that is now.
fn folder(run: &RunInfo, outcome: &ScenarioOutcome) -> Option<PathBuf> {
    let name = outcome.history.as_ref()?.parent()?.file_name()?;
    Some(run.directory.join(name))
}

fn left_out(outcome: &ScenarioOutcome, has_timeline: bool) -> Option<&'static str> {
    if has_timeline {
        return None;
    }
    Some(match outcome.history {
        Some(_) if outcome.verdict == Exit::Passed => {
            "Its timeline is left out, so that this file stays small; the command above shows its course, where its history was kept."
        }
        Some(_) => "Its timeline could not be read; the command above shows its course.",
        None => "The system did not run in it, so there is nothing to draw.",
    })
}

/// The packed timelines of as many scenarios as there is room for, by their number.
fn timelines(result: &RunResult, folders: &[Option<PathBuf>]) -> BTreeMap<usize, String> {
    let mut found: Vec<(bool, Vec<u8>, usize)> = Vec::new();
    for (index, ((_, outcome), folder)) in result.scenarios.iter().zip(folders).enumerate() {
        if let Some(packed) = folder.as_deref().and_then(packed) {
            found.push((outcome.verdict == Exit::Passed, packed, index));
        }
    }
    found.sort_by_key(|(passed, packed, _)| (*passed, packed.len()));
    let mut room = ROOM;
    let mut kept = BTreeMap::new();
    for (_, packed, index) in found {
        let text = base64::engine::general_purpose::STANDARD.encode(packed);
        if text.len() > room {
            break;
        }
        room -= text.len();
        kept.insert(index, text);
    }
    kept
}

fn packed(folder: &Path) -> Option<Vec<u8>> {
    fs::read(folder.join(RECORD)).ok()
}

impl Report for Html {
    fn event(&mut self, event: &RunEvent) -> Result<(), ReportError> {
        match event {
            RunEvent::RunStarted { run, .. } => self.run = Some(Arc::clone(run)),
            RunEvent::RunEnded { result } => {
                let Some(run) = &self.run else { return Ok(()) };
                let page = self.page(run, result);
                let page = page.map_err(|error| ReportError::Content {
                    path: self.to.name(),
                    reason: error.to_string(),
                })?;
                self.to.write(&page)?;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
