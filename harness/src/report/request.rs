//! Reports a user asks for by kind and path: `--report junit=target/junit.xml`.

use std::path::PathBuf;
use std::str::FromStr;

/// What kinds can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The XML that CI systems read.
    Junit,
    /// The summary in JSON.
    Json,
    /// The places of what did not pass.
    Rerun,
}

/// A report at a place of the user's choice, in addition to those of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRequest {
    /// Which.
    pub kind: ReportKind,
    /// Where to.
    pub path: PathBuf,
}

/// A text asks for no report.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` asks for no report; write `junit=PATH`, `json=PATH` or `rerun=PATH`")]
pub struct ReportRequestError(String);

impl FromStr for ReportRequest {
    type Err = ReportRequestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ReportRequestError(text.to_owned());
        let (kind, path) = text.split_once('=').ok_or_else(error)?;
        let kind = match kind {
            "junit" => ReportKind::Junit,
            "json" => ReportKind::Json,
            "rerun" => ReportKind::Rerun,
            _ => return Err(error()),
        };
        if path.is_empty() {
            return Err(error());
        }
        Ok(Self {
            kind,
            path: path.into(),
        })
    }
}
