//! `rehearse check`: whether the manifest and the features could run.

use clap::Args;

use super::run::{Picked, SelectionArguments, nothing_again};
use super::{Application, Examination, Halt, ManifestArgument, Surroundings};
use crate::gherkin::{Exit, Plan, Project as _};
use crate::report::terminal::ending::plural;

#[derive(Clone, Debug, Args)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    selection: SelectionArguments,
    #[command(flatten)]
    manifest: ManifestArgument,
    /// Start nothing at all: queries are not shown to a prepared database
    #[arg(long = "static")]
    only_static: bool,
}

pub(super) fn check<A: Application>(
    application: &A,
    arguments: &CheckArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let project = application
        .load(&arguments.manifest.path())
        .map_err(Halt::invalid)?;
    let vocabulary = project
        .vocabulary()
        .compile()
        .map_err(|errors| Halt::broken(miette::miette!("{errors}")))?;
    let scenarios = match arguments.selection.pick_if_any(&arguments.manifest)? {
        Picked::Scenarios(scenarios, _) => scenarios,
        Picked::NothingAgain(path) => return Ok(nothing_again(&path, surroundings)),
    };
    Plan::new(&scenarios, &vocabulary, 0).map_err(Halt::invalid)?;
    let examination = if arguments.only_static {
        Examination::NotAsked("`--static` asks for that".to_owned())
    } else {
        let examined = application.examine(&project, &surroundings.interrupt);
        examined.map_err(Halt::invalid)?
    };
    let queries = match &examination {
        Examination::Interrupted => return Ok(Exit::Interrupted),
        Examination::NothingToAsk | Examination::NotAsked(_) => String::new(),
        Examination::Asked(1) => ", 1 query".to_owned(),
        Examination::Asked(several) => format!(", {several} queries"),
    };
    let mut files: Vec<&str> = scenarios
        .iter()
        .map(|scenario| scenario.text.path.as_str())
        .collect();
    files.sort_unstable();
    files.dedup();
    let steps: usize = scenarios.iter().map(|scenario| scenario.steps.len()).sum();
    for warning in project.warnings() {
        surroundings.say(&format!("warning: {warning}\n"));
    }
    if let Examination::NotAsked(reason) = &examination {
        surroundings.say(&format!(
            "no database looked at the queries of the manifest: {reason}\n"
        ));
    }
    surroundings.say(&format!(
        "nothing wrong: {}, {}, {}, {}{queries}\n",
        arguments.manifest.path().display(),
        plural(files.len(), "feature"),
        plural(scenarios.len(), "scenario"),
        plural(steps, "step"),
    ));
    Ok(Exit::Passed)
}
