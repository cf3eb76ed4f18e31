//! `rehearse clean`: removes what earlier runs left behind.

use std::path::PathBuf;

use clap::Args;

use super::{Application, Halt, REPORTS, Surroundings};
use crate::gherkin::Exit;

#[derive(Clone, Debug, Args)]
pub(super) struct CleanArguments {
    /// Where the runs have their directories
    #[arg(long, value_name = "DIR", default_value = REPORTS)]
    reports: PathBuf,
}

pub(super) fn clean<A: Application>(
    application: &A,
    arguments: &CleanArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let mut removed = 0_usize;
    let mut say = |text: &str| {
        removed += 1;
        surroundings.say(&format!("{text}\n"));
    };
    application
        .clean(&arguments.reports, &mut say)
        .map_err(Halt::step)?;
    if removed == 0 {
        surroundings.say("nothing was left behind\n");
    }
    Ok(Exit::Passed)
}
