//! Errors with their places, as text.

use std::error::Error;
use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, Report, Severity, SourceCode,
};

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
    match render(&handler, report.as_ref(), None, &mut text) {
        Ok(()) => text,
        Err(_) => format!("{report}\n"),
    }
}

/// Renders an error, and below it those that belong to it: each with a sign of its own
/// and no heading that says once more that it is one.
fn render(
    handler: &GraphicalReportHandler,
    error: &dyn Diagnostic,
    inherited: Option<&dyn SourceCode>,
    text: &mut String,
) -> fmt::Result {
    let source = error.source_code().or(inherited);
    handler.render_report(text, &Alone { error, source })?;
    for related in error.related().into_iter().flatten() {
        text.push('\n');
        render(handler, related, source, text)?;
    }
    Ok(())
}

/// An error without those that belong to it, and without causes that it names itself.
#[derive(Clone, Copy)]
struct Alone<'e> {
    error: &'e dyn Diagnostic,
    source: Option<&'e dyn SourceCode>,
}

impl fmt::Debug for Alone<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.error, f)
    }
}

impl fmt::Display for Alone<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.error, f)
    }
}

impl Error for Alone<'_> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cause = self.error.source()?;
        let told = self.error.to_string().ends_with(&cause.to_string());
        (!told).then_some(cause)
    }
}

impl Diagnostic for Alone<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.error.code()
    }

    fn severity(&self) -> Option<Severity> {
        self.error.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.error.help()
    }

    fn url<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.error.url()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.error.labels()
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        self.error.diagnostic_source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error, Diagnostic)]
    #[error("the file has 2 mistakes")]
    struct Whole {
        #[source_code]
        text: String,
        #[related]
        mistakes: Vec<Mistake>,
    }

    #[derive(Debug, thiserror::Error, Diagnostic)]
    #[error("this is wrong: {cause}")]
    #[diagnostic(help("mend it"))]
    struct Mistake {
        #[label("here")]
        at: (usize, usize),
        #[source]
        cause: std::fmt::Error,
    }

    #[test]
    fn what_belongs_together_is_told_once_each_with_its_place() {
        let mistake = |at| Mistake {
            at: (at, 2),
            cause: std::fmt::Error,
        };
        let report = Report::new(Whole {
            text: "one two".to_owned(),
            mistakes: vec![mistake(0), mistake(4)],
        });
        let text = diagnostic(&report, false, None);
        let count = |what: &str| text.matches(what).count();
        assert_eq!(count("the file has 2 mistakes"), 1, "{text}");
        assert_eq!(count("this is wrong"), 2, "{text}");
        assert_eq!(count("one two"), 2, "{text}");
        assert_eq!(count("here"), 2, "{text}");
        assert_eq!(count("mend it"), 2, "{text}");
        assert_eq!(count("Error:"), 0, "{text}");
        assert_eq!(count(&std::fmt::Error.to_string()), 2, "{text}");
    }
}
