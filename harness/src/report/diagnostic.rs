//! Errors with their places, as text.

use miette::{GraphicalReportHandler, GraphicalTheme, Report};

/// An error as a person reads it: what, where, how to mend it.
pub(crate) fn diagnostic(report: &Report, colour: bool, width: Option<usize>) -> String {
    let theme = if colour {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(width.unwrap_or(100))
        .with_links(false);
    let mut text = String::new();
    match handler.render_report(&mut text, report.as_ref()) {
        Ok(()) => text,
        Err(_) => format!("{report}\n"),
    }
}
