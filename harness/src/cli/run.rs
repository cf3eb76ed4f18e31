//! `rehearse run`, and `rehearse` alone.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use regex::Regex;

use super::{Application, FEATURES, Halt, MANIFEST, ManifestArgument, REPORTS, Surroundings, list};
use crate::deployment::DriverKind;
use crate::gherkin::{
    Exit, Order, Place, Plan, Project, RunInfo, RunOptions, Scenario, Selection, SelectionError,
    new_run_id, rehearse,
};
use crate::report::{
    Keep, Repeat, ReportRequest, Reports, Rerun, Stream, Terminal, TerminalOptions, Wanted,
};

const SEED: u64 = 1;

/// Which scenarios.
#[derive(Clone, Debug, Args)]
pub(super) struct SelectionArguments {
    /// Feature files, directories, `FILE:LINE`, or @LIST with one of these a line
    #[arg(value_name = "SELECTION", default_value = FEATURES)]
    places: Vec<String>,
    /// Only scenarios with these tags: '@slow and not @docker'; several must all hold
    #[arg(long, value_name = "EXPRESSION")]
    tags: Vec<String>,
    /// Only scenarios whose name matches; of several, any
    #[arg(long, value_name = "REGEX")]
    name: Vec<String>,
    /// Only the K-th of N shares
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// In which order they start: defined, or random:SEED
    #[arg(long, value_name = "ORDER", default_value = "defined")]
    order: String,
}

#[derive(Clone, Debug, Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    selection: SelectionArguments,
    #[command(flatten)]
    manifest: ManifestArgument,
    /// How many scenarios run side by side [default: two for each core]
    #[arg(long, short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Another report: html, junit, json, markdown, messages or rerun; `-` is standard output
    #[arg(long, value_name = "KIND=FILE")]
    report: Vec<String>,
    /// What stays of scenarios that passed: all, failed (their history, compressed) or none
    #[arg(long, value_name = "WHAT", default_value = "failed")]
    keep: Keep,
    /// Where each run gets a directory for its reports
    #[arg(long, value_name = "DIR", default_value = REPORTS)]
    reports: PathBuf,
    /// Wait for what happens by itself, visibility timeouts for instance
    #[arg(long)]
    real_time: bool,
    /// How processes are run: processes or containers [default: as the manifest says]
    #[arg(long, value_name = "DRIVER")]
    driver: Option<DriverKind>,
    /// Show what is selected; start nothing
    #[arg(long)]
    list: bool,
    /// Show the totals of scenarios that passed, too
    #[arg(long, short)]
    verbose: bool,
    /// Every random choice comes from it
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
}

impl SelectionArguments {
    pub(super) fn pick(&self) -> Result<Vec<Arc<Scenario>>, Halt> {
        let selection = self.selection()?;
        selection.pick().map_err(|error| match &error {
            SelectionError::Missing { path } => match mistyped(path) {
                Some(command) if path.as_os_str() == command => Halt::invalid(miette::miette!(
                    help = format!("write the command first: `rehearse {command} …`"),
                    "`{command}` is a command, and stands where a feature file is expected"
                )),
                Some(command) => Halt::invalid(miette::miette!(
                    help = format!("did you mean the command `rehearse {command}`?"),
                    "{error}"
                )),
                None => Halt::invalid(error),
            },
            _ => Halt::invalid(error),
        })
    }

    /// Whether nothing is left out.
    fn is_whole(&self) -> bool {
        let everywhere = self.places.iter().all(|place| place == FEATURES);
        everywhere && self.tags.is_empty() && self.name.is_empty() && self.shard.is_none()
    }

    fn selection(&self) -> Result<Selection, Halt> {
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
        Ok(Selection {
            places: all::<Place>(&self.places)?,
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

/// A path that is probably meant to be a command.
fn mistyped(path: &Path) -> Option<&'static str> {
    let word = path.to_str()?;
    let commands = [
        "run", "explore", "prove", "merge", "steps", "check", "clean", "judge", "report", "show",
        "serve",
    ];
    commands
        .into_iter()
        .find(|command| strsim::damerau_levenshtein(command, word) <= 2)
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
    if reports.exists() && !reports.is_dir() {
        return Err(Halt::invalid(miette::miette!(
            help = "name a directory, or one that is to be made",
            "`--reports {}` names something that is no directory",
            reports.display()
        )));
    }
    Ok(())
}

pub(super) fn run<A: Application>(
    application: &A,
    arguments: &RunArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let requests = requests(&arguments.report)?;
    check_places(&requests, &arguments.reports)?;
    let scenarios = arguments.selection.pick()?;
    if arguments.list {
        return list::list(&scenarios, surroundings);
    }
    let project = application
        .load(&arguments.manifest.manifest)
        .map_err(Halt::invalid)?;
    let vocabulary = project
        .vocabulary()
        .compile()
        .map_err(|errors| Halt::broken(miette::miette!("{errors}")))?;
    let id = new_run_id();
    let run = Arc::new(RunInfo {
        directory: arguments.reports.join(id.as_str()),
        id,
        system: project.system(),
        whole: arguments.selection.is_whole(),
        seed: arguments.seed,
        real_time: arguments.real_time,
        driver: arguments.driver,
    });
    let scenarios = fitting(&project, &run, scenarios, surroundings)?;
    let plan = Plan::new(&scenarios, &vocabulary, arguments.seed).map_err(Halt::invalid)?;
    let options = RunOptions {
        jobs: arguments.jobs.unwrap_or_else(RunOptions::default_jobs),
        limits: project.limits(),
    };
    let mut reports = reports(arguments, &run, requests, surroundings);
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
    for error in reports.errors() {
        exit = exit.max(Exit::Broken);
        surroundings.report(&miette::miette!("{error}"));
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
    requests: Vec<ReportRequest>,
    surroundings: &mut Surroundings,
) -> Reports {
    let repeat = Repeat::Rehearse {
        arguments: repeat(arguments),
    };
    let options = TerminalOptions {
        colour: surroundings.colours_out(),
        live: surroundings.out_is_terminal,
        width: surroundings.width,
        verbose: arguments.verbose,
        repeat: repeat.clone(),
    };
    let out = std::mem::replace(&mut surroundings.out, Box::new(std::io::sink()));
    let out = Stream::new(out);
    // What a program reads must not be mixed with what a person reads.
    let piped = requests.iter().any(|request| request.path.is_none());
    let wanted = Wanted {
        reports: arguments.reports.clone(),
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
        .with(Rerun::new(arguments.reports.join("rerun.txt")))
        .with(Terminal::new(to, options))
}

/// The arguments that matter when one scenario is repeated.
fn repeat(arguments: &RunArguments) -> Vec<String> {
    let mut words = Vec::new();
    if arguments.manifest.manifest != Path::new(MANIFEST) {
        words.extend([
            "--manifest".to_owned(),
            arguments.manifest.manifest.display().to_string(),
        ]);
    }
    if arguments.reports != Path::new(REPORTS) {
        words.extend([
            "--reports".to_owned(),
            arguments.reports.display().to_string(),
        ]);
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
