//! Scenarios as tests of `cargo test` and `cargo nextest`: a target with
//! `harness = false` whose `main` is [`main`]. Each scenario, and each row of examples,
//! is one test.
//!
//! ```ignore
//! fn main() -> ExitCode {
//!     libtest::main(&libtest::Target::new("rehearsals", "features"), || load("rehearsal.yaml"))
//! }
//! ```

mod arguments;
mod progress;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use self::arguments::Arguments;
use self::progress::Progress;
use super::event::{RunEvent, ScenarioId};
use super::exit::Exit;
use super::interrupt::Interrupt;
use super::plan::Plan;
use super::project::Project;
use super::run_id::new_run_id;
use super::runner::{RunOptions, rehearse};
use super::scenario::Scenario;
use super::selection::{Place, Selection};
use super::world::{RunInfo, ScenarioInfo};
use crate::report::diagnostic::diagnostic;
use crate::report::{Annotations, Ci, Keep, Repeat, Report as _, Stream, Wanted};

/// A test target.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name, as in `cargo test --test NAME`.
    pub name: String,
    /// The directory of its features.
    pub features: PathBuf,
    /// Where reports go.
    pub reports: PathBuf,
    /// Every random choice comes from it.
    pub seed: u64,
    /// What a CI system asks for; none: what the environment of [`main`] says.
    pub ci: Option<Ci>,
}

impl Target {
    /// A target with its reports in `reports`.
    pub fn new(name: impl Into<String>, features: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            features: features.into(),
            reports: "reports".into(),
            seed: 1,
            ci: None,
        }
    }

    /// Puts reports elsewhere.
    #[must_use]
    pub fn reports(mut self, directory: impl Into<PathBuf>) -> Self {
        self.reports = directory.into();
        self
    }

    /// Uses another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// The `main` of a test target: reads the process's arguments, writes to its standard
/// streams, and listens to Ctrl-C.
pub fn main<P: Project>(
    target: &Target,
    project: impl FnOnce() -> Result<P, miette::Report>,
) -> ExitCode {
    let interrupt = Interrupt::new();
    let listening = interrupt.listen();
    let mut target = target.clone();
    target.ci.get_or_insert_with(Ci::of_process);
    let arguments = std::env::args().skip(1);
    let exit = match listening {
        Ok(()) => run(
            &target,
            arguments,
            project,
            &interrupt,
            &mut io::stdout(),
            &mut io::stderr(),
        ),
        Err(error) => {
            let _ = writeln!(io::stderr(), "cannot listen to signals: {error}");
            Exit::Broken
        }
    };
    exit.into()
}

/// How a test of a scenario is named: `delivery/five::Poison is put aside`.
pub(crate) fn test_name(scenario: &ScenarioInfo, features: &Path) -> String {
    name_of(&scenario.path, &scenario.name, features)
}

fn name_of(path: &str, name: &str, features: &Path) -> String {
    let path = Path::new(path)
        .strip_prefix(features)
        .unwrap_or(Path::new(path));
    format!("{}::{name}", path.with_extension("").display())
}

/// As [`main`], with everything given.
pub fn run<P: Project>(
    target: &Target,
    arguments: impl Iterator<Item = String>,
    project: impl FnOnce() -> Result<P, miette::Report>,
    interrupt: &Interrupt,
    out: &mut (dyn Write + Send),
    err: &mut dyn Write,
) -> Exit {
    let arguments = match Arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = writeln!(err, "error: {error}");
            return Exit::Invalid;
        }
    };
    let ran = attempt(target, &arguments, project, interrupt, out);
    ran.unwrap_or_else(|(exit, report)| {
        let _ = write!(err, "{}", diagnostic(&report, false, None));
        exit
    })
}

fn attempt<P: Project>(
    target: &Target,
    arguments: &Arguments,
    project: impl FnOnce() -> Result<P, miette::Report>,
    interrupt: &Interrupt,
    out: &mut (dyn Write + Send),
) -> Result<Exit, (Exit, miette::Report)> {
    let invalid = |report: miette::Report| (Exit::Invalid, report);
    let broken = |error: io::Error| (Exit::Broken, miette::miette!("cannot write: {error}"));
    let selection = Selection {
        places: vec![Place::Path(target.features.clone())],
        ..Selection::default()
    };
    let scenarios = selection.pick().map_err(|error| invalid(error.into()))?;
    let name = |scenario: &Scenario| name_of(&scenario.text.path, &scenario.name, &target.features);
    let (chosen, others): (Vec<_>, Vec<_>) = scenarios
        .into_iter()
        .partition(|scenario| arguments.choose(&name(scenario), is_ignored(&scenario.tags)));
    if arguments.list {
        for scenario in &chosen {
            writeln!(out, "{}: test", name(scenario)).map_err(broken)?;
        }
        if !arguments.terse {
            writeln!(out, "\n{} tests, 0 benchmarks", chosen.len()).map_err(broken)?;
        }
        return Ok(Exit::Passed);
    }
    let (running, ignored): (Vec<_>, Vec<_>) = chosen
        .into_iter()
        .partition(|scenario| arguments.runs_ignored() || !is_ignored(&scenario.tags));
    let repeat = Repeat::Test {
        target: target.name.clone(),
        features: target.features.clone(),
    };
    let names = running.iter().map(|scenario| name(scenario)).collect();
    let mut progress = Progress::new(&mut *out, arguments.terse, repeat.clone(), names);
    progress
        .begin(ignored.iter().map(|scenario| name(scenario)))
        .map_err(broken)?;
    if running.is_empty() {
        progress.end(others.len()).map_err(broken)?;
        return Ok(Exit::Passed);
    }
    let project = Arc::new(project().map_err(invalid)?);
    let vocabulary = project
        .vocabulary()
        .compile()
        .map_err(|errors| (Exit::Broken, miette::miette!("{errors}")))?;
    let plan = Plan::new(&running, &vocabulary, target.seed)
        .map_err(|problems| invalid(problems.into()))?;
    let id = new_run_id();
    let run = Arc::new(RunInfo {
        directory: target.reports.join(id.as_str()),
        id,
        system: project.system(),
        whole: others.is_empty() && ignored.is_empty(),
        seed: target.seed,
        real_time: false,
        driver: None,
    });
    let options = RunOptions {
        jobs: arguments.threads.unwrap_or_else(RunOptions::default_jobs),
        fail_fast: None,
        limits: project.limits(),
    };
    let ci = target.ci.clone().unwrap_or_default();
    let wanted = Wanted {
        reports: target.reports.clone(),
        repeat: repeat.clone(),
        keep: Keep::default(),
        // Annotations come after what the target itself prints.
        ci: Ci {
            annotations: false,
            ..ci.clone()
        },
        requests: Vec::new(),
        out: Stream::new(Box::new(io::sink())),
    };
    let mut reports = wanted.of(&run);
    let result = rehearse(
        &project,
        &plan,
        &run,
        options,
        interrupt,
        &mut |event: &_| {
            super::runner::Listener::event(&mut reports, event);
            progress.event(event);
        },
    );
    progress.end(others.len()).map_err(broken)?;
    if ci.annotations {
        let ended = RunEvent::RunEnded {
            result: Arc::new(result.clone()),
        };
        Annotations::new(&mut *out)
            .event(&ended)
            .map_err(|error| (Exit::Broken, miette::miette!("{error}")))?;
    }
    let unwritten = reports.errors().first();
    match unwritten {
        Some(error) => Err((Exit::Broken, miette::miette!("{error}"))),
        None => Ok(result.exit),
    }
}

/// Scenarios with these tags are tests that only run when asked for. Those that need
/// containers are among them: `cargo test` asks nobody for an engine.
fn is_ignored(tags: &[String]) -> bool {
    tags.iter()
        .any(|tag| ["ignore", "ignored", "containers"].contains(&tag.as_str()))
}

/// The scenario's position among the names.
fn position(scenario: ScenarioId) -> usize {
    scenario.0
}
