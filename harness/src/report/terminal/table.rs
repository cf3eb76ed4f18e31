//! Tables of figures.

use std::collections::BTreeMap;
use std::time::Duration;

use comfy_table::Table;
use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};

use indexmap::IndexMap;

use super::ending::{plural, seconds};
use crate::gherkin::{Exit, Row, RunResult};

/// Expected and seen, side by side. What differs is marked.
pub(crate) fn comparison(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["", "expected", "seen", ""]);
    for row in rows {
        let mark = if row.agrees() { "" } else { "✗" };
        table.add_row([row.name.as_str(), &row.expected, &row.seen, mark]);
    }
    table.to_string()
}

/// How steady scenarios were that ran several times; none where each ran once. One that
/// ended in several ways is unsteady, whatever the last of them was.
pub(super) fn steadiness(result: &RunResult) -> Option<String> {
    let mut repeated: IndexMap<String, Repeated<'_>> = IndexMap::new();
    for (scenario, outcome) in &result.scenarios {
        scenario.repetition?;
        let known = repeated.entry(scenario.selector()).or_default();
        known.name = name_alone(&scenario.name);
        if outcome.ran {
            *known.ends.entry(outcome.verdict).or_default() += 1;
            known.took.push(outcome.took);
        }
    }
    if repeated.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    let mut unsteady = 0_usize;
    for (place, Repeated { name, ends, took }) in &repeated {
        let steady = ends.len() < 2;
        unsteady += usize::from(!steady);
        if steady && ends.keys().all(|end| *end == Exit::Passed) {
            continue;
        }
        let ends: Vec<String> = ends
            .iter()
            .map(|(end, count)| format!("{count} {end}"))
            .collect();
        let state = if steady { "steady" } else { "UNSTEADY" };
        let least = took.iter().min().copied().unwrap_or_default();
        let most = took.iter().max().copied().unwrap_or_default();
        let times = format!("{} to {}", seconds(least), seconds(most));
        table.add_row([state, &ends.join(", "), name, place, &times]);
    }
    let rows = table.trim_fmt();
    let figures = format!(
        "{}: {} steady, {unsteady} unsteady",
        plural(repeated.len(), "scenario"),
        repeated.len() - unsteady
    );
    Some(if rows.is_empty() {
        figures
    } else {
        format!("{rows}\n{figures}")
    })
}

/// One scenario over all its repetitions.
#[derive(Default)]
struct Repeated<'r> {
    name: &'r str,
    ends: BTreeMap<Exit, usize>,
    took: Vec<Duration>,
}

/// The name without its repetition: ` (2 of 5)`.
fn name_alone(name: &str) -> &str {
    name.rsplit_once(" (").map_or(name, |(name, _)| name)
}

/// The scenarios of a run that ran and did not pass, and where each stands.
pub(super) fn not_passed(result: &RunResult) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    for (scenario, outcome) in &result.scenarios {
        let state = match outcome.verdict {
            // How many never ran is said in the end; that they did not is nobody's failure.
            _ if !outcome.ran => continue,
            Exit::Passed => continue,
            verdict => verdict.to_string(),
        };
        table.add_row([state, scenario.name.clone(), scenario.selector()]);
    }
    table.trim_fmt()
}
