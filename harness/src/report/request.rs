//! Reports a user asks for by kind and path: `--report junit=target/junit.xml`.

use std::path::PathBuf;
use std::str::FromStr;

/// What kinds can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The page for people.
    Html,
    /// The XML that CI systems read.
    Junit,
    /// The summary in JSON.
    Json,
    /// The summary in Markdown.
    Markdown,
    /// Cucumber Messages.
    Messages,
    /// The places of what did not pass.
    Rerun,
}

impl ReportKind {
    /// All, by the word that asks for each.
    pub const ALL: [(&'static str, Self); 6] = [
        ("html", Self::Html),
        ("junit", Self::Junit),
        ("json", Self::Json),
        ("markdown", Self::Markdown),
        ("messages", Self::Messages),
        ("rerun", Self::Rerun),
    ];
}

/// A report at a place of the user's choice, in addition to those of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// Which.
    pub kind: ReportKind,
    /// Where to; none: standard output.
    pub path: Option<PathBuf>,
}

/// A text asks for no report.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` asks for no report; write KIND=FILE, or KIND=- for standard output, with one of the kinds {kinds}", kinds = kinds())]
pub struct ReportRequestError(String);

fn kinds() -> String {
    let words = ReportKind::ALL.iter().map(|(word, _)| format!("`{word}`"));
    words.collect::<Vec<_>>().join(", ")
}

impl FromStr for ReportRequest {
    type Err = ReportRequestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ReportRequestError(text.to_owned());
        let (kind, path) = text.split_once('=').ok_or_else(error)?;
        let known = ReportKind::ALL.iter().find(|(word, _)| *word == kind);
        let (_, kind) = known.ok_or_else(error)?;
        if path.is_empty() {
            return Err(error());
        }
        Ok(Self {
            kind: *kind,
            path: (path != "-").then(|| path.into()),
        })
    }
}
