//! The reports of a run: the same files for the command and for test targets.

use std::path::PathBuf;

use super::{
    Annotations, Ci, Html, Junit, Keep, Keeper, Markdown, Messages, Repeat, ReportKind,
    ReportRequest, Reports, Rerun, Stream, Summary, Target,
};
use crate::gherkin::RunInfo;

/// What is wanted of a run's reports.
pub struct Wanted {
    /// The directory of all runs.
    pub reports: PathBuf,
    /// How a scenario is repeated.
    pub repeat: Repeat,
    /// What is kept of scenarios.
    pub keep: Keep,
    /// What a CI system asks for.
    pub ci: Ci,
    /// Reports at other places.
    pub requests: Vec<ReportRequest>,
    /// Where results go.
    pub out: Stream,
}

impl Wanted {
    /// All reports of this run but the terminal's. The annotations are not among them: they
    /// come last.
    pub fn of(self, run: &RunInfo) -> Reports {
        let mut reports = files(&run.directory, &self.repeat, true);
        for ReportRequest { kind, path } in self.requests {
            let to = match path {
                Some(path) => Target::File(path),
                None => Target::Stream(self.out.clone()),
            };
            add(&mut reports, kind, to, &self.repeat);
        }
        if let Some(path) = self.ci.summary {
            reports.add(Markdown::appended(path, self.repeat));
        }
        // After all that reads a scenario's files.
        reports.add(Keeper::new(self.reports, self.keep));
        if self.ci.annotations {
            reports.add(Annotations::new(self.out));
        }
        reports
    }
}

/// The reports that stand in a run's folder.
pub fn files(directory: &std::path::Path, repeat: &Repeat, with_summary: bool) -> Reports {
    let mut reports = Reports::new();
    if with_summary {
        let path = directory.join("summary.json");
        reports.add(Summary::new(path, repeat.clone()));
    }
    for (kind, name) in [
        (ReportKind::Junit, "junit.xml"),
        (ReportKind::Rerun, "rerun.txt"),
        (ReportKind::Messages, "messages.ndjson"),
        (ReportKind::Markdown, "summary.md"),
        (ReportKind::Html, "report.html"),
    ] {
        let to = Target::File(directory.join(name));
        add(&mut reports, kind, to, repeat);
    }
    reports
}

/// Adds a report of this kind.
pub fn add(reports: &mut Reports, kind: ReportKind, to: Target, repeat: &Repeat) {
    match kind {
        ReportKind::Junit => reports.add(Junit::new(to, repeat.clone())),
        ReportKind::Json => reports.add(Summary::new(to, repeat.clone())),
        ReportKind::Rerun => reports.add(Rerun::new(to)),
        ReportKind::Html => reports.add(Html::new(to, repeat.clone())),
        ReportKind::Markdown => reports.add(Markdown::new(to, repeat.clone())),
        ReportKind::Messages => reports.add(Messages::new(to)),
    }
}
