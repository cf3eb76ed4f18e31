//! Tables of figures.

use comfy_table::presets::{NOTHING, UTF8_FULL_CONDENSED};
use comfy_table::{ContentArrangement, Table};

use crate::gherkin::{Row, RunResult};

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

/// Each scenario of a run with its figures.
pub(super) fn scenarios(result: &RunResult, width: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    if let Some(width) = width.and_then(|width| u16::try_from(width).ok()) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(width);
    }
    for (scenario, outcome) in &result.scenarios {
        let figures = super::ending::figures(outcome);
        let (state, took) = if outcome.ran {
            (
                outcome.verdict.to_string(),
                super::ending::seconds(outcome.took),
            )
        } else {
            ("not run".to_owned(), String::new())
        };
        table.add_row([state, scenario.name.clone(), figures, took]);
    }
    table.trim_fmt()
}
