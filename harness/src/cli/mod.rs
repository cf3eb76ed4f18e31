//! The command line: parses, calls the library, maps to an exit code. Generic over what
//! is rehearsed, so that a team with phrases of its own has the same command.

mod check;
mod clean;
mod environment;
mod explore;
mod figure;
mod glue;
mod init;
mod judge;
mod list;
mod merge;
mod page;
mod profile;
mod prove;
mod record;
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

use clap::{ColorChoice, CommandFactory as _, Parser, Subcommand};
use miette::Report;

use self::profile::Refused;
pub use self::surroundings::Surroundings;
use crate::deployment::{RunError, RunGuard};
use crate::embedded::database::Search;
use crate::gherkin::{Exit, Interrupt, Project, StepError};
use crate::manifest::Manifest;
use crate::suite::Suite;

/// What became of the queries of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Examination {
    /// It has none.
    NothingToAsk,
    /// So many are right.
    Asked(usize),
    /// No database looked at them, and why.
    NotAsked(String),
    /// Ctrl-C came.
    Interrupted,
}

/// What the command line works on.
pub trait Application {
    /// What is rehearsed.
    type Project: Project;

    /// Reads and checks a manifest. Starts nothing.
    ///
    /// # Errors
    /// All that is wrong with it, with places and ways to mend it.
    fn load(&self, manifest: &Path) -> Result<Self::Project, Report>;

    /// What is rehearsed where there is no manifest: the phrases without any names.
    ///
    /// # Errors
    /// Where nothing can be said without one.
    fn general(&self) -> Result<Self::Project, Report> {
        Err(miette::miette!("there is no manifest"))
    }

    /// Reads and checks the manifest of a system that is to be explored. Starts nothing.
    ///
    /// # Errors
    /// All that is wrong with it; or that this program explores no systems.
    fn suite(&self, manifest: &Path) -> Result<Suite, Report> {
        let _ = manifest;
        Err(miette::miette!("this program explores no systems"))
    }

    /// The suite of a manifest that was read already. Starts nothing.
    ///
    /// # Errors
    /// When this program explores no systems.
    fn suite_of(&self, manifest: Manifest) -> Result<Suite, Report> {
        let _ = manifest;
        Err(miette::miette!("this program explores no systems"))
    }

    /// Lets a prepared database look at the queries of a manifest, where one can be had.
    ///
    /// # Errors
    /// What is wrong with them.
    fn examine(
        &self,
        project: &Self::Project,
        interrupt: &Interrupt,
    ) -> Result<Examination, Report> {
        let _ = (project, interrupt);
        Ok(Examination::NothingToAsk)
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
#[command(
    name = "rehearse",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Whether to use colours: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        env = "REHEARSE_COLOR",
        hide_env_values = true
    )]
    color: ColorChoice,
    #[command(flatten)]
    run: run::RunArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run scenarios; also without this word
    Run(run::RunArguments),
    /// Find every point at which a process can die or a call can fail, and try each
    Explore(explore::ExploreArguments),
    /// Make a first manifest, from a compose file or a few words
    Init(init::InitArguments),
    /// Watch the system without faults, and say what its manifest does not say yet
    Record(record::RecordArguments),
    /// Find out what could be wrong without any scenario noticing
    Prove(prove::ProveArguments),
    /// Put the results of several shards of an exploration together
    Merge(merge::MergeArguments),
    /// List the phrases that features may use
    Steps(steps::StepsArguments),
    /// Check the manifest and the features; no process of the system is started
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
    /// Write the JSON Schema of the manifest, for editors
    Schema,
    /// Write completions for a shell
    Completions(page::CompletionsArguments),
    /// Write the manual page, of the whole or of one command
    Man(page::PageArguments),
    /// Explain a command, or the manifest: `help manifest`
    Help(page::PageArguments),
}

/// Where the manifest is.
#[derive(Clone, Debug, clap::Args)]
struct ManifestArgument {
    /// What is rehearsed [default: the nearest rehearsal.yaml, here or above]
    #[arg(
        long,
        value_name = "FILE",
        env = "REHEARSE_MANIFEST",
        hide_env_values = true
    )]
    manifest: Option<PathBuf>,
}

impl ManifestArgument {
    /// As it was given; else the nearest from this directory upwards, or where it should be.
    fn path(&self) -> PathBuf {
        self.manifest
            .clone()
            .or_else(nearest_manifest)
            .unwrap_or_else(|| PathBuf::from(MANIFEST))
    }

    /// Whether there is one, or one was asked for.
    fn is_there(&self) -> bool {
        self.manifest.is_some() || nearest_manifest().is_some()
    }

    /// A place beside the manifest.
    fn beside(&self, name: &str) -> PathBuf {
        self.path().with_file_name(name)
    }
}

fn nearest_manifest() -> Option<PathBuf> {
    let depth = std::env::current_dir().map_or(1, |here| here.ancestors().count());
    let mut path = PathBuf::from(MANIFEST);
    for _ in 0..depth {
        if path.is_file() {
            return Some(path);
        }
        path = Path::new("..").join(path);
    }
    None
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
    let command = || {
        environment::heard(Arguments::command())
            .color(colour)
            .term_width(surroundings.width.unwrap_or(100).min(100))
            .after_help(exit_codes())
    };
    let words: Vec<OsString> = arguments.into_iter().collect();
    let parsed = profile::parse(application, command, words);
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(Refused::Halt(Halt { exit, report })) => {
            surroundings.report(&report);
            return exit;
        }
        Err(Refused::Words(error)) => {
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
    match arguments.color {
        ColorChoice::Auto => {}
        ColorChoice::Always => surroundings.colour = Some(true),
        ColorChoice::Never => surroundings.colour = Some(false),
    }
    let done = match arguments.command.unwrap_or(Command::Run(arguments.run)) {
        Command::Run(arguments) => run::run(application, &arguments, surroundings),
        Command::Explore(arguments) => explore::explore(application, &arguments, surroundings),
        Command::Init(arguments) => init::init(application, &arguments, surroundings),
        Command::Record(arguments) => record::record(application, &arguments, surroundings),
        Command::Prove(arguments) => prove::prove(application, &arguments, surroundings),
        Command::Merge(arguments) => merge::merge(&arguments, surroundings),
        Command::Steps(arguments) => steps::steps(application, &arguments, surroundings),
        Command::Check(arguments) => check::check(application, &arguments, surroundings),
        Command::Judge(arguments) => judge::judge(&arguments, surroundings),
        Command::Show(arguments) => show::show(&arguments, surroundings),
        Command::Report(arguments) => report::report(&arguments, surroundings),
        Command::Clean => clean::clean(application, surroundings),
        Command::Serve(arguments) => serve::serve(application, arguments, surroundings),
        Command::Schema => page::schema(surroundings),
        Command::Completions(arguments) => page::completions(&arguments, surroundings),
        Command::Man(arguments) => page::man(&arguments, surroundings),
        Command::Help(arguments) => page::help(&arguments, command(), surroundings),
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
