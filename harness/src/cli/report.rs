//! `rehearse report`: the reports of a run again, from its folder. Starts nothing.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::{Halt, Surroundings};
use crate::gherkin::Exit;
use crate::report::{self, Recorded, Repeat, ReportRequest, Stream, Target};

#[derive(Clone, Debug, Args)]
pub(super) struct ReportArguments {
    /// The folder of a run: `reports/latest`, for instance
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Only this: html, junit, json, markdown, messages or rerun; `-` is standard output
    #[arg(long, value_name = "KIND=FILE")]
    report: Vec<String>,
}

pub(super) fn report(
    arguments: &ReportArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let requests = super::run::requests(&arguments.report)?;
    let recorded = Recorded::read(&arguments.run).map_err(Halt::invalid)?;
    let repeat = Repeat::Recorded(Arc::new(recorded.repeat.clone()));
    let out = std::mem::replace(&mut surroundings.out, Box::new(std::io::sink()));
    let out = Stream::new(out);
    surroundings.out = Box::new(out.clone());
    let mut reports = if requests.is_empty() {
        report::files(&arguments.run, &repeat, false)
    } else {
        report::Reports::new()
    };
    let told = requests.is_empty();
    for ReportRequest { kind, path } in requests {
        let to = match path {
            Some(path) => Target::File(path),
            None => Target::Stream(out.clone()),
        };
        report::add(&mut reports, kind, to, &repeat);
    }
    recorded.tell(&mut reports);
    for error in reports.errors() {
        surroundings.report(&miette::miette!("{error}"));
    }
    if !reports.errors().is_empty() {
        return Ok(Exit::Broken);
    }
    if told {
        let page = arguments.run.join("report.html");
        surroundings.say(&format!("{}\n", page.display()));
    }
    Ok(Exit::Passed)
}
