//! `rehearse explore`: every point of a system is found and tried.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;

use super::{Application, Halt, ManifestArgument, REPORTS, Surroundings};
use crate::deployment::DriverKind;
use crate::explore::{
    Accepted, Answer, Course, ExploreError, Outcome, Progress, Proven, Request, Strike,
    explore as run, proofs, read_outcomes, write_counterexamples,
};
use crate::gherkin::{
    self, Exit, Interrupt, Place, Plan, Project as _, RunEvent, RunInfo, RunOptions, Selection,
    Shard, new_run_id,
};
use crate::ids::{MessageName, RoleName};
use crate::manifest::{Manifest, nearest};
use crate::suite::Suite;

/// Where accepted points are listed.
const ACCEPTED: &str = "rehearsal-explored.json";
/// What stands for that list where none is named.
const USUAL: &str = "<beside the manifest>";

#[derive(Clone, Debug, Args)]
pub(super) struct ExploreArguments {
    #[command(flatten)]
    manifest: ManifestArgument,
    /// What is done at each point: kill, terminate, lost-request, lost-reply, refused, twice,
    /// delivered-twice, delayed, paused; several, or `all`
    #[arg(
        long,
        value_name = "EFFECT",
        default_value = "kill",
        value_delimiter = ','
    )]
    effect: Vec<String>,
    /// Only points of this process; several
    #[arg(long, value_name = "PROCESS")]
    process: Vec<String>,
    /// How many messages each rehearsal submits
    #[arg(long, value_name = "N", default_value = "1")]
    messages: NonZeroUsize,
    /// The message whose calls are struck
    #[arg(long, value_name = "MESSAGE", default_value = "M1")]
    of: String,
    /// How many faults strike one rehearsal: 1, or 2 for pairs of them too
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    depth: u8,
    /// How many pairs of faults are tried at most, chosen by the seed; all, where `--for` says
    /// how long
    #[arg(long, value_name = "N", default_value_t = 400)]
    pairs: usize,
    /// Begin no further point after this time: 10m
    #[arg(long = "for", value_name = "TIME")]
    until: Option<String>,
    /// How often a fault strikes its message: once, or `every` time it passes there (poison)
    #[arg(long, value_name = "TIMES", default_value = "once")]
    times: Often,
    /// Try also boundaries that are one to a process that dies there
    #[arg(long)]
    unmerged: bool,
    /// How many rehearsals run side by side [default: two for each core]
    #[arg(long, short, value_name = "N", value_parser = super::figure::from_one)]
    jobs: Option<NonZeroUsize>,
    /// Only the K-th of N shares of the points; `rehearse merge` puts them together
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Go on where this run was interrupted: its directory
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
    /// Fail where anything is worse than this list of accepted points says [default:
    /// rehearsal-explored.json beside the manifest]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = USUAL, hide_default_value = true)]
    check: Option<PathBuf>,
    /// Write what is found to the list of accepted points [default: rehearsal-explored.json
    /// beside the manifest]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = USUAL, hide_default_value = true)]
    accept: Option<PathBuf>,
    /// Where each run gets a directory for its results [default: reports beside the manifest]
    #[arg(
        long,
        value_name = "DIR",
        env = "REHEARSE_REPORTS",
        hide_env_values = true
    )]
    reports: Option<PathBuf>,
    /// How processes are run: processes or containers [default: as the manifest says]
    #[arg(long, value_name = "DRIVER")]
    driver: Option<DriverKind>,
    /// Every random choice comes from it
    #[arg(long, value_name = "N",
        value_parser = super::figure::whole, default_value_t = 1)]
    seed: u64,
}

/// How often a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Often {
    Once,
    Every,
}

pub(super) fn explore<A: Application>(
    application: &A,
    arguments: &ExploreArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let suite = application
        .suite(&arguments.manifest.path())
        .map_err(Halt::invalid)?;
    let list = |file: &Path| listed(arguments, file);
    let check = arguments.check.as_deref().map(list);
    let accepted = check.as_deref().map(Accepted::read).transpose();
    let accepted = accepted.map_err(|error| Halt::invalid(miette::miette!("{error}")))?;
    let id = new_run_id();
    let directory = reports_of(arguments).join(id.as_str());
    let request = request(arguments, suite.manifest(), id.as_str(), directory.clone())?;
    let info = RunInfo {
        system: String::new(),
        whole: false,
        id,
        seed: arguments.seed,
        directory,
        real_time: false,
        driver: arguments.driver,
    };
    surroundings.say(&defaults(&request, suite.manifest()));
    let suite = Arc::new(suite);
    let course = on_venue(&suite, &info, &request, surroundings)?;
    let proving = Instant::now();
    let proven = prove(&suite, &info, &request, &course, surroundings)?;
    let proving = proving.elapsed();
    let answer = Answer {
        plan: &course.plan,
        outcomes: &course.outcomes,
        proven,
    };
    let mut text = format!("\n{}{}\n", answer.tables(), answer.failures());
    text += &answer.summary(course.tried, course.took);
    let _ = writeln!(
        text,
        "without faults {:.2} s, points {:.2} s, counterexamples {:.2} s",
        course.survey.as_secs_f64(),
        course.took.as_secs_f64(),
        proving.as_secs_f64(),
    );
    text += &answer.limits();
    let _ = writeln!(text, "results: {}", request.directory.display());
    if course.interrupted {
        let _ = writeln!(
            text,
            "interrupted; go on with `rehearse explore --resume {}`",
            request.directory.display()
        );
    }
    surroundings.say(&text);
    let exit = conclude(
        arguments,
        &request,
        accepted.as_ref(),
        &answer,
        surroundings,
    )?;
    Ok(if course.interrupted {
        Exit::Interrupted
    } else if request.shard.is_some() && answer.exit() == Exit::Unproven {
        // A share is whole when all that fell to it was proven.
        let unproven = course
            .outcomes
            .iter()
            .any(|one| one.mark.exit() != Exit::Passed);
        if unproven { exit } else { Exit::Passed }
    } else {
        exit
    })
}

fn reports_of(arguments: &ExploreArguments) -> PathBuf {
    let usual = || arguments.manifest.beside(REPORTS);
    arguments.reports.clone().unwrap_or_else(usual)
}

/// The list of accepted points: one that nobody named stands beside the manifest.
fn listed(arguments: &ExploreArguments, file: &Path) -> PathBuf {
    if file == Path::new(USUAL) {
        arguments.manifest.beside(ACCEPTED)
    } else {
        file.to_owned()
    }
}

/// Writes or compares the list of accepted points.
fn conclude(
    arguments: &ExploreArguments,
    request: &Request,
    accepted: Option<&Accepted>,
    answer: &Answer<'_>,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let found = Accepted::of(answer.outcomes);
    let mut exit = answer.exit();
    if let Some(accepted) = accepted {
        let asked = accepted.only(&request.strikes, &request.processes);
        if asked.points.len() < accepted.points.len() {
            surroundings.say(&format!(
                "compared with {} of {} accepted points: the others are of other effects or processes\n",
                asked.points.len(),
                accepted.points.len()
            ));
        }
        let share = request.shard.is_some();
        let regressions = asked.regressions(&found, answer.plan, share);
        for regression in &regressions {
            surroundings.say(&format!("worse than accepted: {regression}\n"));
        }
        exit = if regressions.is_empty() {
            Exit::Passed
        } else {
            exit.max(Exit::Failed)
        };
    }
    if let Some(file) = arguments.accept.as_deref() {
        let file = listed(arguments, file);
        found
            .write(&file)
            .map_err(|error| Halt::broken(miette::miette!("{error}")))?;
        surroundings.say(&format!("accepted: {}\n", file.display()));
    }
    Ok(exit)
}

/// What is asked for, checked.
fn request(
    arguments: &ExploreArguments,
    manifest: &Manifest,
    run: &str,
    directory: PathBuf,
) -> Result<Request, Halt> {
    let mut strikes = Vec::new();
    for effect in &arguments.effect {
        if effect == "all" {
            strikes.extend(Strike::ALL);
            continue;
        }
        let strike: Strike = effect
            .parse()
            .map_err(|error| Halt::invalid(miette::miette!("--effect: {error}")))?;
        strikes.push(strike);
    }
    strikes.sort_unstable();
    strikes.dedup();
    let mut processes = Vec::new();
    for process in &arguments.process {
        let role = RoleName::new(process.as_str());
        if !manifest.processes.contains_key(&role) {
            let known = manifest.processes.keys().map(RoleName::as_str);
            let help = match nearest(process, known.clone()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("known: {}", known.collect::<Vec<_>>().join(", ")),
            };
            return Err(Halt::invalid(miette::miette!(
                help = help,
                "--process: the manifest has no process `{process}`"
            )));
        }
        processes.push(role);
    }
    let until = arguments.until.as_deref().map(|written| {
        crate::manifest::parse_duration(written).map_err(|fault| {
            Halt::invalid(miette::miette!(
                help = "write 30s, 10m, 1h",
                "--for: `{written}`: {fault}"
            ))
        })
    });
    let until = until.transpose()?;
    let messages = u32::try_from(arguments.messages.get()).unwrap_or(u32::MAX);
    let number = arguments
        .of
        .strip_prefix('M')
        .and_then(|of| of.parse::<u32>().ok());
    if number.is_none_or(|number| number == 0 || number > messages) {
        return Err(Halt::invalid(miette::miette!(
            help = format!("the messages are M1 to M{messages}; `--messages` says how many"),
            "--of: `{}` is none of the messages",
            arguments.of
        )));
    }
    let done = match &arguments.resume {
        None => BTreeMap::new(),
        Some(run) => read_outcomes(&run_directory(run, &reports_of(arguments)))
            .map_err(|error| Halt::invalid(miette::miette!("--resume: {error}")))?,
    };
    Ok(Request {
        run: run.to_owned(),
        messages,
        of: MessageName::new(arguments.of.as_str()),
        processes,
        strikes,
        unmerged: arguments.unmerged,
        every: arguments.times == Often::Every,
        pairs: (arguments.depth > 1).then_some(match until {
            Some(_) => usize::MAX,
            None => arguments.pairs,
        }),
        until,
        jobs: arguments.jobs.unwrap_or_else(RunOptions::default_jobs),
        shard: arguments.shard,
        seed: arguments.seed,
        directory,
        done,
    })
}

/// A run's directory, or its name alone.
pub(super) fn run_directory(run: &Path, reports: &Path) -> PathBuf {
    if run.is_dir() {
        run.to_owned()
    } else {
        reports.join(run)
    }
}

/// What holds because nobody said otherwise.
fn defaults(request: &Request, manifest: &Manifest) -> String {
    let effects: Vec<&str> = request.strikes.iter().map(|strike| strike.name()).collect();
    let mut text = format!(
        "exploring {}: {} message{}, struck at {}, effect {}, {} at a time, seed {}\n",
        manifest.name,
        request.messages,
        if request.messages == 1 { "" } else { "s" },
        request.of,
        effects.join(", "),
        request.jobs,
        request.seed,
    );
    if manifest.terminal.is_empty() {
        text += "no ends in the manifest (`terminal`): what is durable is compared alone\n";
    }
    text
}

/// Explores on a venue of its own, which is closed whatever happens.
fn on_venue(
    suite: &Arc<Suite>,
    info: &RunInfo,
    request: &Request,
    surroundings: &mut Surroundings,
) -> Result<Course, Halt> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Halt::broken(miette::miette!("cannot start threads: {error}")))?;
    let interrupt = surroundings.interrupt.clone();
    let explored = runtime.block_on(async {
        let venue = suite.venue(info, Arc::new(|_: &str| {}));
        let venue = tokio::select! {
            venue = venue => Arc::new(venue.map_err(Halt::step)?),
            () = interrupt.raised() => return Err(interrupted()),
        };
        let mut tell = |progress: Progress<'_>| surroundings.say(&told(&progress));
        let explored = run(&venue, request, &interrupt, &mut tell).await;
        let left = venue.close().await;
        let course = explored.map_err(|error| halt(&error))?;
        if left.is_empty() {
            return Ok(course);
        }
        Err(Halt::broken(miette::miette!(
            "the run left something behind: {}",
            left.join("; ")
        )))
    });
    runtime.shutdown_timeout(gherkin::Limits::default().grace);
    explored
}

fn interrupted() -> Halt {
    Halt {
        exit: Exit::Interrupted,
        report: miette::miette!("interrupted before a point was tried"),
    }
}

fn halt(error: &ExploreError) -> Halt {
    let exit = match error {
        ExploreError::Rehearsal(_) | ExploreError::Results(_) => Exit::Broken,
        ExploreError::Unsound { mark, .. } => mark.exit(),
        ExploreError::Ignored { .. } | ExploreError::NoPoints { .. } => Exit::Invalid,
        ExploreError::Interrupted => return interrupted(),
    };
    let help = match error {
        ExploreError::Unsound { .. } => {
            Some("mend that first: exploring takes what happens without faults as right")
        }
        _ => None,
    };
    let report = match help {
        Some(help) => miette::miette!(help = help, "{error}"),
        None => miette::miette!("{error}"),
    };
    Halt { exit, report }
}

fn told(progress: &Progress<'_>) -> String {
    match progress {
        Progress::Planned {
            plan,
            here,
            done,
            took,
            left_out,
        } => {
            let mut text = String::new();
            for line in left_out {
                let _ = writeln!(text, "{line}");
            }
            let _ = write!(
                text,
                "two rehearsals without faults: {:.2} s; {} boundaries, {} points",
                took.as_secs_f64(),
                plan.boundaries,
                plan.points.len(),
            );
            if here < &plan.points.len() {
                let _ = write!(text, ", {here} of them here");
            }
            if *done > 0 {
                let _ = write!(text, ", {done} known from an earlier run");
            }
            text + "\n"
        }
        Progress::Tried {
            outcome,
            done,
            of,
            left,
        } => format!(
            "[{done:>3}/{of}] {:<9}  {}: the {}  {:.2} s, some {} s left\n",
            outcome.mark,
            outcome.point.strike,
            place(outcome),
            outcome.took.as_secs_f64(),
            left.as_secs(),
        ),
    }
}

/// Where a point is, with its second fault.
fn place(outcome: &Outcome) -> String {
    let mut place = outcome.point.class.boundary.to_string();
    if let Some(then) = &outcome.point.then {
        let _ = write!(
            place,
            ", and then {}: the {}",
            then.strike, then.class.boundary
        );
    }
    place
}

/// Writes a counterexample for each failure and runs all of them once more.
fn prove(
    suite: &Arc<Suite>,
    info: &RunInfo,
    request: &Request,
    course: &Course,
    surroundings: &mut Surroundings,
) -> Result<BTreeMap<String, Proven>, Halt> {
    let failed: Vec<&Outcome> = course
        .outcomes
        .iter()
        .filter(|outcome| outcome.mark.is_failure())
        .collect();
    if failed.is_empty() || course.interrupted {
        return Ok(BTreeMap::new());
    }
    let directory = request.directory.join("counterexamples");
    let files = write_counterexamples(&directory, failed.iter().copied())
        .map_err(|error| Halt::broken(miette::miette!("cannot write counterexamples: {error}")))?;
    surroundings.say(&format!(
        "\nrunning {} counterexample{} once more\n",
        files.len(),
        if files.len() == 1 { "" } else { "s" }
    ));
    let result = rerun(suite, info, &directory, &surroundings.interrupt.clone())?;
    let proven = proofs(&files, &result);
    let keys = failed.iter().map(|outcome| outcome.point.key());
    Ok(keys.zip(proven).collect())
}

fn rerun(
    suite: &Arc<Suite>,
    info: &RunInfo,
    directory: &Path,
    interrupt: &Interrupt,
) -> Result<gherkin::RunResult, Halt> {
    let selection = Selection {
        places: vec![Place::Path(directory.to_owned())],
        ..Selection::default()
    };
    let scenarios = selection.pick().map_err(Halt::invalid)?;
    let vocabulary = suite
        .vocabulary()
        .compile()
        .map_err(|errors| Halt::broken(miette::miette!("{errors}")))?;
    let plan = Plan::new(&scenarios, &vocabulary, info.seed).map_err(Halt::invalid)?;
    let run = Arc::new(RunInfo {
        system: String::new(),
        whole: false,
        id: new_run_id(),
        directory: directory.join("runs"),
        ..info.clone()
    });
    let options = RunOptions {
        jobs: RunOptions::default_jobs(),
        fail_fast: None,
        limits: suite.limits(),
    };
    let mut nobody = |_: &RunEvent| {};
    Ok(gherkin::rehearse(
        suite,
        &plan,
        &run,
        options,
        interrupt,
        &mut nobody,
    ))
}
