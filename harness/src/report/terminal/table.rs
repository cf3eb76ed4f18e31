//! Tables of figures.

use comfy_table::Table;
use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};

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
