//! `rehearse merge`: the results of several shards of one exploration, together.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::explore::run_directory;
use super::{Halt, REPORTS, Surroundings};
use crate::explore::{Answer, merge as put_together};
use crate::gherkin::Exit;

#[derive(Clone, Debug, Args)]
pub(super) struct MergeArguments {
    /// The directories of the runs, or their names
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Where runs have their directories
    #[arg(long, value_name = "DIR", default_value = REPORTS)]
    reports: PathBuf,
}

pub(super) fn merge(
    arguments: &MergeArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let runs: Vec<PathBuf> = arguments
        .runs
        .iter()
        .map(|run| {
            if run.exists() || run.starts_with(&arguments.reports) {
                run.clone()
            } else {
                run_directory(run, &arguments.reports)
            }
        })
        .collect();
    let (plan, outcomes) = put_together(&runs).map_err(|error| {
        let help =
            "name the folders of runs of `rehearse explore`, or their names under `--reports`";
        Halt::invalid(miette::miette!(help = help, "{error}"))
    })?;
    let took: Duration = outcomes.iter().map(|outcome| outcome.took).sum();
    let answer = Answer {
        plan: &plan,
        outcomes: &outcomes,
        proven: BTreeMap::new(),
    };
    let text = format!(
        "{}{}\n{}{}",
        answer.tables(),
        answer.failures(),
        answer.summary(outcomes.len(), took),
        answer.limits()
    );
    surroundings.say(&text);
    Ok(answer.exit())
}
