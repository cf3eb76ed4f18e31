//! `rehearse check`: whether the manifest and the features could run.

use clap::Args;

use super::run::SelectionArguments;
use super::{Application, Halt, ManifestArgument, Surroundings};
use crate::gherkin::{Exit, Plan, Project as _};
use crate::report::terminal::ending::plural;

#[derive(Clone, Debug, Args)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    selection: SelectionArguments,
    #[command(flatten)]
    manifest: ManifestArgument,
}

pub(super) fn check<A: Application>(
    application: &A,
    arguments: &CheckArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let project = application
        .load(&arguments.manifest.manifest)
        .map_err(Halt::invalid)?;
    let vocabulary = project
        .vocabulary()
        .compile()
        .map_err(|errors| Halt::broken(miette::miette!("{errors}")))?;
    let scenarios = arguments.selection.pick()?;
    Plan::new(&scenarios, &vocabulary, 0).map_err(Halt::invalid)?;
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
    surroundings.say(&format!(
        "nothing wrong: {}, {}, {}, {}\n",
        arguments.manifest.manifest.display(),
        plural(files.len(), "feature"),
        plural(scenarios.len(), "scenario"),
        plural(steps, "step"),
    ));
    Ok(Exit::Passed)
}
