//! `rehearse run`, and `rehearse` alone.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, CommandFactory as _};
use regex::Regex;

use super::{Application, FEATURES, Halt, MANIFEST, ManifestArgument, REPORTS, Surroundings, list};
use crate::deployment::DriverKind;
use crate::gherkin::{
    Exit, Order, Place, Plan, Project, RunInfo, RunOptions, Scenario, Selection, SelectionError,
    new_run_id, rehearse,
};
use crate::report::{
    Keep, Repeat, ReportRequest, Reports, Rerun, Stream, Terminal, TerminalOptions, Wanted,
    unwritten,
};

const SEED: u64 = 1;

/// Which scenarios.
#[derive(Clone, Debug, Args)]
pub(super) struct SelectionArguments {
    /// Feature files, directories, `FILE:LINE`, or @LIST with one of these a line [default:
    /// features/ beside the manifest]
    #[arg(value_name = "SELECTION")]
    places: Vec<String>,
    /// Only scenarios with these tags: '@slow and not @docker'; several must all hold
    #[arg(
        long,
        short,
        value_name = "EXPRESSION",
        env = "REHEARSE_TAGS",
        hide_env_values = true
    )]
    tags: Vec<String>,
    /// Only scenarios whose name matches; of several, any
    #[arg(
        long,
        short,
        value_name = "REGEX",
        env = "REHEARSE_NAME",
        hide_env_values = true
    )]
    name: Vec<String>,
    /// Only the K-th of N shares
    #[arg(
        long,
        value_name = "K/N",
        env = "REHEARSE_SHARD",
        hide_env_values = true
    )]
    shard: Option<String>,
    /// In which order they start: defined, or random:SEED
    #[arg(
        long,
        value_name = "ORDER",
        default_value = "defined",
        env = "REHEARSE_ORDER",
        hide_env_values = true
    )]
    order: String,
}

#[derive(Clone, Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(super) struct RunArguments {
    #[command(flatten)]
    selection: SelectionArguments,
    #[command(flatten)]
    pub(super) manifest: ManifestArgument,
    /// Options that the manifest names: `profiles: { ci: { jobs: 2 } }`
    #[arg(
        long,
        value_name = "NAME",
        env = "REHEARSE_PROFILE",
        hide_env_values = true
    )]
    pub(super) profile: Option<String>,
    /// How many scenarios run side by side [default: two for each core]
    #[arg(
        long,
        short,
        value_name = "N",
        value_parser = super::figure::from_one,
        env = "REHEARSE_JOBS",
        hide_env_values = true
    )]
    jobs: Option<NonZeroUsize>,
    /// Start no further scenario once so many did not pass [default: 1]
    #[arg(
        long,
        value_name = "N",
        value_parser = super::figure::from_one,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        env = "REHEARSE_FAIL_FAST",
        hide_env_values = true
    )]
    fail_fast: Option<NonZeroUsize>,
    /// Run each scenario so many times, and tell which are unsteady
    #[arg(
        long,
        value_name = "N",
        value_parser = super::figure::from_one,
        default_value = "1",
        env = "REHEARSE_REPEAT",
        hide_env_values = true
    )]
    repeat: NonZeroUsize,
    /// Another report: html, junit, json, markdown, messages or rerun; `-` is standard output
    #[arg(
        long,
        value_name = "KIND=FILE",
        env = "REHEARSE_REPORT",
        hide_env_values = true
    )]
    report: Vec<String>,
    /// What stays of scenarios that passed: all, failed (their history, compressed) or none
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "failed",
        env = "REHEARSE_KEEP",
        hide_env_values = true
    )]
    keep: Keep,
    /// Where each run gets a directory for its reports [default: reports beside the manifest]
    #[arg(
        long,
        value_name = "DIR",
        env = "REHEARSE_REPORTS",
        hide_env_values = true
    )]
    reports: Option<PathBuf>,
    /// Wait for what happens by itself, visibility timeouts for instance
    #[arg(long, env = "REHEARSE_REAL_TIME", hide_env_values = true)]
    real_time: bool,
    /// How processes are run: processes or containers [default: as the manifest says]
    #[arg(
        long,
        value_name = "DRIVER",
        env = "REHEARSE_DRIVER",
        hide_env_values = true
    )]
    driver: Option<DriverKind>,
    /// Show what is selected; start nothing
    #[arg(long)]
    list: bool,
    /// How `--list` shows it: text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", requires = "list")]
    format: list::Format,
    /// Show the totals of scenarios that passed, too
    #[arg(long, short, env = "REHEARSE_VERBOSE", hide_env_values = true)]
    verbose: bool,
    /// Show nothing but what did not pass, and how many
    #[arg(
        long,
        short,
        conflicts_with = "verbose",
        env = "REHEARSE_QUIET",
        hide_env_values = true
    )]
    quiet: bool,
    /// Every random choice comes from it
    #[arg(
        long,
        value_name = "N",
        value_parser = super::figure::whole,
        default_value_t = SEED,
        env = "REHEARSE_SEED",
        hide_env_values = true
    )]
    seed: u64,
}

/// What a selection comes to.
pub(super) enum Picked {
    /// These scenarios, and whether they are all that there are.
    Scenarios(Vec<Arc<Scenario>>, bool),
    /// The list of what did not pass is empty.
    NothingAgain(PathBuf),
}

impl RunArguments {
    fn reports_directory(&self) -> PathBuf {
        let usual = || self.manifest.beside(REPORTS);
        self.reports.clone().unwrap_or_else(usual)
    }
}

impl SelectionArguments {
    pub(super) fn pick(&self, manifest: &ManifestArgument) -> Result<Picked, Halt> {
        let usual = manifest.beside(FEATURES);
        if self.places.is_empty() && !usual.exists() {
            let usual = usual.display();
            if !manifest.path().exists() {
                return Err(Halt::invalid(miette::miette!(
                    help = "go to the directory of the system, or begin with `rehearse init`",
                    "there is neither a manifest `{}` nor a directory `{usual}`",
                    manifest.path().display()
                )));
            }
            return Err(Halt::invalid(miette::miette!(
                help =
                    "write scenarios there, or name a feature file; `rehearse explore` needs none",
                "there is no `{usual}`, where the features of this manifest are looked for"
            )));
        }
        let selection = self.selection(&usual)?;
        let whole = !selection.narrows()
            && matches!(selection.places.as_slice(), [Place::Path(path)] if *path == usual);
        match selection.pick() {
            Ok(scenarios) => Ok(Picked::Scenarios(scenarios, whole)),
            Err(SelectionError::NothingAgain { path }) => Ok(Picked::NothingAgain(path)),
            Err(error) => Err(unpicked(error)),
        }
    }

    /// The same, where it is fine that there are no features yet: a system that is explored
    /// needs none.
    pub(super) fn pick_if_any(&self, manifest: &ManifestArgument) -> Result<Picked, Halt> {
        if self.places.is_empty() && !manifest.beside(FEATURES).exists() {
            return Ok(Picked::Scenarios(Vec::new(), true));
        }
        self.pick(manifest)
    }

    fn selection(&self, usual: &Path) -> Result<Selection, Halt> {
        fn all<T: std::str::FromStr<Err = SelectionError>>(
            texts: &[String],
        ) -> Result<Vec<T>, Halt> {
            let parsed = texts.iter().map(|text| text.parse());
            parsed.collect::<Result<_, _>>().map_err(Halt::invalid)
        }
        let names = self.name.iter().map(|name| {
            Regex::new(name).map_err(|error| {
                let help = "write a regular expression, or escape its special characters with `\\`";
                Halt::invalid(miette::miette!(help = help, "`--name {name}`: {error}"))
            })
        });
        let places = if self.places.is_empty() {
            vec![Place::Path(usual.to_owned())]
        } else {
            all::<Place>(&self.places)?
        };
        Ok(Selection {
            places,
            tags: all(&self.tags)?,
            names: names.collect::<Result<_, _>>()?,
            shard: self
                .shard
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(Halt::invalid)?,
            order: self.order.parse::<Order>().map_err(Halt::invalid)?,
        })
    }
}

/// Says of an empty list that there is nothing to do.
pub(super) fn nothing_again(path: &Path, surroundings: &mut Surroundings) -> Exit {
    surroundings.say(&format!(
        "nothing is to run again: `{}` is empty, as all passed that ran last\n",
        path.display()
    ));
    Exit::Passed
}

/// Why nothing was selected; a command may have been meant.
fn unpicked(error: SelectionError) -> Halt {
    let SelectionError::Missing { path } = &error else {
        return Halt::invalid(error);
    };
    match mistyped(path) {
        Some(command) if path.as_os_str() == command.as_str() => Halt::invalid(miette::miette!(
            help = format!("write the command first: `rehearse {command} …`"),
            "`{command}` is a command, and stands where a feature file is expected"
        )),
        Some(command) => Halt::invalid(miette::miette!(
            help = format!("did you mean the command `rehearse {command}`?"),
            "{error}"
        )),
        None => Halt::invalid(error),
    }
}

/// A path that is probably meant to be a command.
fn mistyped(path: &Path) -> Option<String> {
    let word = path.to_str()?;
    let command = super::Arguments::command();
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    // Short words are near to many.
    let slip = |name: &String| if name.len() > 3 { 2 } else { 1 };
    let near = |name: &String| strsim::damerau_levenshtein(name, word) <= slip(name);
    names.into_iter().find(near)
}

/// The reports that are asked for.
pub(super) fn requests(texts: &[String]) -> Result<Vec<ReportRequest>, Halt> {
    let requests = texts.iter().map(|text| text.parse::<ReportRequest>());
    requests
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Halt::invalid(miette::miette!("{error}")))
}

/// Reports that would overwrite each other, or have no place.
fn check_places(requests: &[ReportRequest], reports: &Path) -> Result<(), Halt> {
    for (index, request) in requests.iter().enumerate() {
        if requests[..index]
            .iter()
            .any(|other| other.path == request.path)
        {
            return Err(Halt::invalid(miette::miette!(
                help = "give each report a path of its own",
                "two reports are to be written to `{}`",
                request
                    .path
                    .as_ref()
                    .map_or("-".into(), |path| path.display().to_string())
            )));
        }
    }
    if let Some(path) = requests
        .iter()
        .filter_map(|request| request.path.as_ref())
        .find(|path| path.is_dir())
    {
        return Err(Halt::invalid(miette::miette!(
            help = "name a file",
            "`--report …={}` names a directory",
            path.display()
        )));
    }
    if reports.exists() && !reports.is_dir() {
        return Err(Halt::invalid(miette::miette!(
            help = "name a directory, or one that is to be made",
            "`--reports {}` names something that is no directory",
            reports.display()
        )));
    }
    Ok(())
}

/// Whether reports can be written at all, before hours of rehearsals.
fn writable(reports: &Path) -> Result<(), Halt> {
    let tried = std::fs::create_dir_all(reports).and_then(|()| {
        let mut probe = tempfile::tempfile_in(reports)?;
        std::io::Write::write_all(&mut probe, b"so much can be written")
    });
    tried.map_err(|error| {
        Halt::broken(miette::miette!(
            help = "make room there, or choose another directory with `--reports DIR`",
            "cannot write to `{}`, the directory of reports: {error}",
            reports.display()
        ))
    })
}

pub(super) fn run<A: Application>(
    application: &A,
    arguments: &RunArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let requests = requests(&arguments.report)?;
    let reports_directory = arguments.reports_directory();
    check_places(&requests, &reports_directory)?;
    let (scenarios, whole) = match arguments.selection.pick(&arguments.manifest)? {
        Picked::Scenarios(scenarios, whole) => (scenarios, whole),
        Picked::NothingAgain(path) => return Ok(nothing_again(&path, surroundings)),
    };
    if arguments.list {
        return list::list(&scenarios, arguments.format, surroundings);
    }
    let project = application
        .load(&arguments.manifest.path())
        .map_err(Halt::invalid)?;
    let vocabulary = project
        .vocabulary()
        .compile()
        .map_err(|errors| Halt::broken(miette::miette!("{errors}")))?;
    let id = new_run_id();
    let run = Arc::new(RunInfo {
        directory: reports_directory.join(id.as_str()),
        id,
        system: project.system(),
        whole,
        seed: arguments.seed,
        real_time: arguments.real_time,
        driver: arguments.driver,
    });
    let scenarios = fitting(&project, &run, scenarios, surroundings)?;
    let plan = Plan::new(&scenarios, &vocabulary, arguments.seed)
        .map_err(Halt::invalid)?
        .repeated(arguments.repeat);
    let options = RunOptions {
        jobs: arguments.jobs.unwrap_or_else(RunOptions::default_jobs),
        fail_fast: arguments.fail_fast,
        limits: project.limits(),
    };
    writable(&reports_directory)?;
    let mut reports = reports(arguments, &run, (requests, whole), surroundings);
    let interrupt = surroundings.interrupt.clone();
    let result = rehearse(
        &Arc::new(project),
        &plan,
        &run,
        options,
        &interrupt,
        &mut reports,
    );
    let mut exit = result.exit;
    if !reports.errors().is_empty() {
        exit = exit.max(Exit::Broken);
    }
    for told in unwritten(reports.errors()) {
        let help = "`--reports DIR` and `--report KIND=PATH` choose other places";
        surroundings.report(&miette::miette!(help = help, "{told}"));
    }
    Ok(exit)
}

/// The scenarios that can be part of the run; says which cannot.
fn fitting<P: Project>(
    project: &P,
    run: &RunInfo,
    scenarios: Vec<Arc<Scenario>>,
    surroundings: &mut Surroundings,
) -> Result<Vec<Arc<Scenario>>, Halt> {
    let mut fitting = Vec::with_capacity(scenarios.len());
    let mut last = None;
    for scenario in scenarios {
        let Some(reason) = project.leaves_out(run, &scenario.tags) else {
            fitting.push(scenario);
            continue;
        };
        let selector = scenario.selector();
        surroundings.say(&format!(
            "- left out  {}  {selector}: {reason}\n",
            scenario.name
        ));
        last = Some(reason);
    }
    match last {
        Some(reason) if fitting.is_empty() => Err(Halt::invalid(miette::miette!(
            "no scenario is left to run: {reason}"
        ))),
        _ => Ok(fitting),
    }
}

fn reports(
    arguments: &RunArguments,
    run: &RunInfo,
    (requests, whole): (Vec<ReportRequest>, bool),
    surroundings: &mut Surroundings,
) -> Reports {
    let repeat = Repeat::Rehearse {
        arguments: repeat(arguments),
    };
    let options = TerminalOptions {
        colour: surroundings.colours_out(),
        live: surroundings.live && !arguments.quiet,
        width: super::surroundings::columns,
        verbose: arguments.verbose,
        quiet: arguments.quiet,
        repeat: repeat.clone(),
    };
    let out = std::mem::replace(&mut surroundings.out, Box::new(std::io::sink()));
    let out = Stream::new(out);
    // What a program reads must not be mixed with what a person reads.
    let piped = requests.iter().any(|request| request.path.is_none());
    let wanted = Wanted {
        reports: arguments.reports_directory(),
        repeat,
        keep: arguments.keep,
        ci: surroundings.ci.clone(),
        requests,
        out: out.clone(),
    };
    let to = if piped {
        let err = std::mem::replace(&mut surroundings.err, Box::new(std::io::sink()));
        Stream::new(err)
    } else {
        out
    };
    surroundings.out = Box::new(to.clone());
    if piped {
        surroundings.err = Box::new(to.clone());
    }
    // Last, so that the files are there when the terminal says so.
    wanted
        .of(run)
        .with(Rerun::new(arguments.reports_directory().join("rerun.txt")).of_part(!whole))
        .with(Terminal::new(to, options))
}

/// The arguments that matter when one scenario is repeated.
fn repeat(arguments: &RunArguments) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(manifest) = &arguments.manifest.manifest
        && manifest != Path::new(MANIFEST)
    {
        words.extend(["--manifest".to_owned(), manifest.display().to_string()]);
    }
    if let Some(reports) = &arguments.reports
        && *reports != arguments.manifest.beside(REPORTS)
    {
        words.extend(["--reports".to_owned(), reports.display().to_string()]);
    }
    if arguments.seed != SEED {
        words.extend(["--seed".to_owned(), arguments.seed.to_string()]);
    }
    if let Some(driver) = arguments.driver {
        words.extend(["--driver".to_owned(), driver.to_string()]);
    }
    if arguments.real_time {
        words.push("--real-time".to_owned());
    }
    words
}
