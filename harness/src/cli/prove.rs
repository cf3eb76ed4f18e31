//! `rehearse prove`: what a suite is worth.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Application, FEATURES, Halt, ManifestArgument, REPORTS, Surroundings};
use crate::deployment::DriverKind;
use crate::gherkin::{
    Exit, Place, Project as _, RunInfo, RunOptions, Selection, SelectionError, Shard, new_run_id,
};
use crate::manifest::Manifest;
use crate::prove::{
    Accepted, Answer, Kind, Progress, ProveError, Request, Results, merge, prove as run, unused,
};
use crate::suite::Suite;

/// Where accepted variants are listed.
const ACCEPTED: &str = "rehearsal-proved.json";

/// What stands for that list where no file is named.
const USUAL: &str = "<beside the manifest>";

/// What can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Scenarios without their faults, and without each of them
    Controls,
    /// Defects of one's own, from the manifest
    Defects,
    /// Calls that misbehave as a broken system's would
    Wire,
    /// Settings that are off by one
    Settings,
}

impl What {
    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Controls => &[Kind::Control, Kind::Line],
            Self::Defects => &[Kind::Defect],
            Self::Wire => &[Kind::Wire],
            Self::Settings => &[Kind::Setting],
        }
    }
}

#[derive(Clone, Debug, Args)]
pub(super) struct ProveArguments {
    /// The suite: feature files, directories, `FILE:LINE`, or @LIST [default: features/ beside
    /// the manifest]
    #[arg(value_name = "SELECTION")]
    places: Vec<String>,
    #[command(flatten)]
    manifest: ManifestArgument,
    /// What is tried; several [default: all]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    only: Vec<What>,
    /// Only scenarios with these tags; several must all hold
    #[arg(long, value_name = "EXPRESSION")]
    tags: Vec<String>,
    /// Only variants whose name has this in it; of several, any
    #[arg(long, value_name = "TEXT")]
    variant: Vec<String>,
    /// Do not try scenarios that are not meant for a defect
    #[arg(long)]
    meant_only: bool,
    /// How long a scenario waits for quiet; a broken system may never become so
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = patience)]
    patience: Duration,
    /// How many scenarios run side by side [default: two for each core]
    #[arg(long, short, value_name = "N", value_parser = super::figure::from_one)]
    jobs: Option<NonZeroUsize>,
    /// Only the K-th of N shares of the variants
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Try nothing: put the results of all shares together, each a directory of a run or its
    /// prove.json
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with_all = ["shard", "places", "only", "variant", "tags"])]
    merge: Vec<PathBuf>,
    /// Fail where anything is worse than this list of accepted variants says, and nowhere else
    /// [default: rehearsal-proved.json beside the manifest]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = USUAL, hide_default_value = true)]
    check: Option<PathBuf>,
    /// Write what is found to the list of accepted variants [default: as for --check]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = USUAL, hide_default_value = true)]
    accept: Option<PathBuf>,
    /// Where each run gets a directory for its results [default: reports beside the manifest]
    #[arg(long, value_name = "DIR")]
    reports: Option<PathBuf>,
    /// How processes are run: processes or containers [default: as the manifest says]
    #[arg(long, value_name = "DRIVER")]
    driver: Option<DriverKind>,
    /// Every random choice comes from it
    #[arg(long, value_name = "N",
        value_parser = super::figure::whole, default_value_t = 1)]
    seed: u64,
}

impl ProveArguments {
    /// Whether no scenario was left out.
    fn is_whole_suite(&self) -> bool {
        let usual = self.manifest.beside(FEATURES);
        let whole = |places: &[String]| matches!(places, [only] if Path::new(only) == usual);
        self.tags.is_empty() && (self.places.is_empty() || whole(&self.places))
    }

    /// A list of accepted variants that was asked for.
    fn list(&self, asked: Option<&PathBuf>) -> Option<PathBuf> {
        let file = asked?;
        Some(if file == Path::new(USUAL) {
            self.manifest.beside(ACCEPTED)
        } else {
            file.clone()
        })
    }
}

fn patience(text: &str) -> Result<Duration, String> {
    let read = crate::gherkin::read_duration(text).filter(|duration| !duration.is_zero());
    read.ok_or_else(|| "write a duration: `15s`".to_owned())
}

pub(super) fn prove<A: Application>(
    application: &A,
    arguments: &ProveArguments,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let suite = application
        .suite(&arguments.manifest.path())
        .map_err(Halt::invalid)?;
    let suite = hastened(&suite, arguments.patience);
    let accepted = arguments.list(arguments.check.as_ref());
    let accepted = accepted.as_deref().map(Accepted::read).transpose();
    let accepted = accepted.map_err(|error| Halt::invalid(miette::miette!("{error}")))?;
    let usual = || arguments.manifest.beside(REPORTS);
    let reports = arguments.reports.clone().unwrap_or_else(usual);
    let id = new_run_id();
    let info = RunInfo {
        directory: reports.join(id.as_str()),
        id,
        seed: arguments.seed,
        system: suite.manifest().name.clone(),
        whole: false,
        real_time: false,
        driver: arguments.driver,
    };
    if !arguments.merge.is_empty() {
        let results = merge(&arguments.merge);
        let results = results.map_err(|error| Halt::invalid(miette::miette!("{error}")))?;
        let whole = !results.unused.is_empty() || accepted.is_some();
        return conclude(
            arguments,
            accepted.as_ref().map(|list| (list, whole)),
            false,
            &results,
            &info.directory,
            surroundings,
        );
    }
    let mut scenarios = selection(arguments)?.pick().map_err(Halt::invalid)?;
    scenarios.retain(|scenario| suite.leaves_out(&info, &scenario.tags).is_none());
    let request = request(arguments);
    surroundings.say(&format!(
        "proving {}: {} scenarios, {} at a time, seed {}\n",
        suite.manifest().name,
        scenarios.len(),
        request.jobs,
        info.seed,
    ));
    let interrupt = surroundings.interrupt.clone();
    let mut tell = |progress: Progress<'_>| surroundings.say(&told(&progress));
    let course = run(&suite, &scenarios, &info, &request, &interrupt, &mut tell);
    let course = course.map_err(|error| halt(&error))?;
    let vocabulary = suite.vocabulary().compile();
    let vocabulary = vocabulary.map_err(|errors| Halt::broken(miette::miette!("{errors}")))?;
    let share = |shard: Shard| -> Option<(u32, u32)> {
        Some((shard.number.try_into().ok()?, shard.of.try_into().ok()?))
    };
    let results = Results {
        system: suite.manifest().name.clone(),
        green: course.green.0,
        scenarios: course.green.1,
        shard: arguments.shard.and_then(share),
        unused: if arguments.is_whole_suite() {
            unused(suite.manifest(), &scenarios, &vocabulary)
        } else {
            Vec::new()
        },
        variants: course.results,
        took: course.took,
    };
    let whole = arguments.shard.is_none()
        && arguments.only.is_empty()
        && arguments.variant.is_empty()
        && arguments.is_whole_suite();
    conclude(
        arguments,
        accepted.as_ref().map(|list| (list, whole)),
        course.interrupted,
        &results,
        &info.directory,
        surroundings,
    )
}

/// Writes what was found, and writes or compares the list of accepted variants, which is
/// missed in whole where all was tried.
fn conclude(
    arguments: &ProveArguments,
    accepted: Option<(&Accepted, bool)>,
    interrupted: bool,
    results: &Results,
    directory: &Path,
    surroundings: &mut Surroundings,
) -> Result<Exit, Halt> {
    let file = results
        .write(directory)
        .map_err(|error| Halt::broken(miette::miette!("cannot write the results: {error}")))?;
    let answer = Answer { results };
    let mut text = format!("\n{}{}{}", answer.gaps(), answer.unused(), answer.table());
    text += &answer.summary();
    let _ = writeln!(text, "results: {}", file.display());
    let _ = writeln!(
        text,
        "page:    {}",
        file.with_file_name("report.html").display()
    );
    surroundings.say(&text);
    let found = Accepted::of(&results.variants);
    if interrupted {
        return Ok(Exit::Interrupted);
    }
    let mut exit = answer.exit();
    if let Some((accepted, whole)) = accepted {
        let regressions = accepted.regressions(&found, whole);
        for regression in &regressions {
            surroundings.say(&format!("worse than accepted: {regression}\n"));
        }
        exit = if regressions.is_empty() {
            Exit::Passed
        } else {
            Exit::Failed
        };
    }
    if let Some(file) = arguments.list(arguments.accept.as_ref()) {
        found
            .write(&file)
            .map_err(|error| Halt::broken(miette::miette!("{error}")))?;
        surroundings.say(&format!("accepted: {}\n", file.display()));
    }
    Ok(exit)
}

/// The suite with limits for systems that may never come to rest.
fn hastened(suite: &Suite, patience: Duration) -> Suite {
    let mut manifest: Manifest = (**suite.manifest()).clone();
    let limits = &mut manifest.limits;
    limits.quiet = limits.quiet.min(patience);
    limits.step = limits.step.min(patience.mul_f64(4.0 / 3.0));
    suite.with(manifest)
}

fn selection(arguments: &ProveArguments) -> Result<Selection, Halt> {
    fn all<T: std::str::FromStr<Err = SelectionError>>(texts: &[String]) -> Result<Vec<T>, Halt> {
        let parsed = texts.iter().map(|text| text.parse());
        parsed.collect::<Result<_, _>>().map_err(Halt::invalid)
    }
    let usual = || arguments.manifest.beside(FEATURES).display().to_string();
    let places = if arguments.places.is_empty() {
        &[usual()][..]
    } else {
        &arguments.places
    };
    Ok(Selection {
        places: all::<Place>(places)?,
        tags: all(&arguments.tags)?,
        ..Selection::default()
    })
}

fn request(arguments: &ProveArguments) -> Request {
    let all = [What::Controls, What::Defects, What::Wire, What::Settings];
    let only = if arguments.only.is_empty() {
        &all[..]
    } else {
        &arguments.only
    };
    let kinds = only.iter().flat_map(|what| what.kinds());
    Request {
        kinds: kinds.copied().collect(),
        names: arguments.variant.clone(),
        jobs: arguments.jobs.unwrap_or_else(RunOptions::default_jobs),
        shard: arguments.shard,
        others: !arguments.meant_only,
    }
}

fn told(progress: &Progress<'_>) -> String {
    match progress {
        Progress::Suite { scenarios } => format!("{scenarios} scenarios as they are\n"),
        Progress::NotGreen { scenario, verdict } => format!(
            "{verdict}  {} is not green as it is, and tells nothing\n",
            scenario.selector()
        ),
        Progress::Trying { tries, variants } => {
            format!("{tries} tries of {variants} variants\n")
        }
        Progress::Tried {
            variant,
            scenario,
            mark,
            done: (done, of),
        } => format!(
            "[{done:>4}/{of}] {mark:<15} {}: {}  {}\n",
            variant.kind,
            variant.name,
            scenario.selector()
        ),
    }
}

fn halt(error: &ProveError) -> Halt {
    match error {
        ProveError::Interrupted => Halt {
            exit: Exit::Interrupted,
            report: miette::miette!("interrupted before anything was tried"),
        },
        ProveError::Broken { .. } => Halt::broken(miette::miette!("{error}")),
        ProveError::MeansNothing { .. } => Halt::invalid(miette::miette!(
            help = "write a feature (`features/brake.feature`), a line of one, or `brake: a part of a name`",
            "{error}"
        )),
        ProveError::ChangesNothing { .. } => Halt::invalid(miette::miette!(
            help = "say under `defects`, in the manifest, what switches a defect on: `environment: { DEFECT: \"${{defect}}\" }`",
            "{error}"
        )),
        ProveError::Nothing => Halt::invalid(miette::miette!(
            help = "a suite without fault lines has no controls; `--only` and `--variant` say what is tried",
            "{error}"
        )),
        ProveError::Defects(_) | ProveError::Invalid(_) => {
            Halt::invalid(miette::miette!("{error}"))
        }
    }
}
