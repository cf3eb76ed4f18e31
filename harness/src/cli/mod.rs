//! The command line: parses, calls the library, maps to an exit code. Generic over what
//! is rehearsed, so that a team with phrases of its own has the same command.

mod check;
mod clean;
mod explore;
mod judge;
mod list;
mod merge;
mod prove;
mod report;
mod run;
mod serve;
mod serve_database;
pub mod serve_queue;
mod show;
mod steps;
mod surroundings;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use miette::Report;

pub use self::surroundings::Surroundings;
use crate::deployment::{RunError, RunGuard};
use crate::embedded::database::Search;
use crate::gherkin::{Exit, Project, StepError};
use crate::suite::Suite;

/// What the command line works on.
pub trait Application {
    /// What is rehearsed.
    type Project: Project;

    /// Reads and checks a manifest. Starts nothing.
    ///
    /// # Errors
    /// All that is wrong with it, with places and ways to mend it.
    fn load(&self, manifest: &Path) -> Result<Self::Project, Report>;

    /// Reads and checks the manifest of a system that is to be explored. Starts nothing.
    ///
    /// # Errors
    /// All that is wrong with it; or that this program explores no systems.
    fn suite(&self, manifest: &Path) -> Result<Suite, Report> {
        let _ = manifest;
        Err(miette::miette!("this program explores no systems"))
    }

    /// Removes what earlier runs left behind, and says what it removes.
    ///
    /// # Errors
    /// If something cannot be removed.
    fn clean(&self, say: &mut dyn FnMut(&str)) -> Result<(), StepError>;

    /// Begins a run that has nothing but a server, and says where a database server
    /// comes from.
    ///
    /// # Errors
    /// If the run's record cannot be made.
    fn begin_serving(&self) -> Result<(RunGuard, Search), RunError>;
}

/// Drives a real deployment of a queue-worker system to its failure points and proves
/// what was lost, repeated, blocked or wrongly given up.
#[derive(Debug, Parser)]
#[command(name = "rehearse", version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::RunArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run scenarios; also without this word
    Run(run::RunArguments),
    /// Find every point at which a process can die or a call can fail, and try each
    Explore(explore::ExploreArguments),
    /// Find out what could be wrong without any scenario noticing
    Prove(prove::ProveArguments),
    /// Put the results of several shards of an exploration together
    Merge(merge::MergeArguments),
    /// List the phrases that features may use
    Steps(steps::StepsArguments),
    /// Check the manifest and the features; start nothing
    Check(check::CheckArguments),
    /// Judge a history that an earlier run wrote; start nothing
    Judge(judge::JudgeArguments),
    /// Show the course of a rehearsal: who did what, to which message, and why it did not pass
    Show(show::ShowArguments),
    /// Make the reports of a run again, from its folder
    Report(report::ReportArguments),
    /// Remove what earlier runs left behind: processes, containers, files
    Clean,
    /// Serve an embedded dependency alone, until Ctrl-C
    Serve(serve::ServeArguments),
}

/// Where the manifest is.
#[derive(Clone, Debug, clap::Args)]
struct ManifestArgument {
    /// What is rehearsed
    #[arg(long, value_name = "FILE", default_value = MANIFEST)]
    manifest: PathBuf,
}

const MANIFEST: &str = "rehearsal.yaml";
const FEATURES: &str = "features/";
const REPORTS: &str = "reports";

/// Why a command did not do what it should: how it exits, and what it says.
struct Halt {
    exit: Exit,
    report: Report,
}

impl Halt {
    fn invalid(report: impl Into<Report>) -> Self {
        Self {
            exit: Exit::Invalid,
            report: report.into(),
        }
    }

    fn broken(report: impl Into<Report>) -> Self {
        Self {
            exit: Exit::Broken,
            report: report.into(),
        }
    }

    fn output(error: &std::io::Error) -> Self {
        // Whoever read the output has seen enough.
        let exit = if error.kind() == std::io::ErrorKind::BrokenPipe {
            Exit::Passed
        } else {
            Exit::Broken
        };
        Self {
            exit,
            report: miette::miette!("cannot write the output: {error}"),
        }
    }

    fn step(error: StepError) -> Self {
        match error {
            StepError::Invalid {
                message,
                help: Some(help),
            } => Self::invalid(miette::miette!(help = help, "{message}")),
            StepError::Invalid {
                message,
                help: None,
            } => Self::invalid(miette::miette!("{message}")),
            other => Self::broken(miette::miette!("{}", crate::gherkin::chain(&other))),
        }
    }
}

/// Does what the arguments say (the first is the program's own name).
pub fn main<A: Application>(
    application: &A,
    arguments: impl IntoIterator<Item = OsString>,
    surroundings: &mut Surroundings,
) -> Exit {
    let colour = if surroundings.colours_err() {
        ColorChoice::Always
    } else {
        ColorChoice::Never
    };
    let command = Arguments::command()
        .color(colour)
        .term_width(surroundings.width.unwrap_or(100).min(100))
        .after_help(exit_codes());
    let parsed = command
        .try_get_matches_from(arguments)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            let text = error.render();
            let text = if colour == ColorChoice::Always {
                text.ansi().to_string()
            } else {
                text.to_string()
            };
            return if error.use_stderr() {
                surroundings.say_err(&text);
                Exit::Invalid
            } else {
                surroundings.say(&text);
                Exit::Passed
            };
        }
    };
    let done = match arguments.command.unwrap_or(Command::Run(arguments.run)) {
        Command::Run(arguments) => run::run(application, &arguments, surroundings),
        Command::Explore(arguments) => explore::explore(application, &arguments, surroundings),
        Command::Prove(arguments) => prove::prove(application, &arguments, surroundings),
        Command::Merge(arguments) => merge::merge(&arguments, surroundings),
        Command::Steps(arguments) => steps::steps(application, &arguments, surroundings),
        Command::Check(arguments) => check::check(application, &arguments, surroundings),
        Command::Judge(arguments) => judge::judge(&arguments, surroundings),
        Command::Show(arguments) => show::show(&arguments, surroundings),
        Command::Report(arguments) => report::report(&arguments, surroundings),
        Command::Clean => clean::clean(application, surroundings),
        Command::Serve(arguments) => serve::serve(application, arguments, surroundings),
    };
    done.unwrap_or_else(|Halt { exit, report }| {
        if exit != Exit::Passed {
            surroundings.report(&report);
        }
        exit
    })
}

fn exit_codes() -> String {
    let mut text = "Exit codes:".to_owned();
    for exit in Exit::ALL {
        let _ = write!(text, "\n  {:>3}  {}", exit.code(), exit.meaning());
    }
    text += "\nWhere several hold, the first of 130, 2, 1, 3, 4 is taken.";
    text
}
