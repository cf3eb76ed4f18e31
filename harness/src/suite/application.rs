//! Suites for the command line and for test targets: manifests are loaded, leftovers
//! are swept.

use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use miette::Report;
use nix::unistd::Uid;

use super::{Suite, Surroundings};
use crate::cli::{self, Application, Examination};
use crate::deployment::{self, RunError, RunGuard, RunOptions, guard};
use crate::embedded::database::{self, Search};
use crate::gherkin::libtest::{self, Target};
use crate::gherkin::{Exit, Interrupt, StepError, new_run_id};
use crate::manifest::{Manifest, Protocol, Provide};
use crate::rehearsal::VenueError;

/// The argument that makes the harness's own program a watchdog.
pub(super) const WATCHDOG: &str = "__watchdog";

/// A manifest with as little as one can hold: phrases are the same with any.
const NAMELESS: &str = "\
version: 1
name: any
dependencies:
  queue: { protocol: sqs, provide: embedded, queues: { jobs: {} } }
processes:
  worker: { command: worker, environment: { QUEUE: \"${queue.jobs.url}\" } }
messages:
  submit: { queue: queue/jobs, body: { id: \"${message.key}\" } }
";

/// If this process was started as the watchdog of a run, is it, and says how it ends.
/// Every program that rehearses calls this first: the watchdog is the program itself.
pub fn watch_if_asked() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != WATCHDOG {
        return None;
    }
    let directory = PathBuf::from(arguments.next()?);
    Some(match guard(io::stdin(), &directory) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Rehearses whichever manifest it is given.
pub struct Rehearsals {
    surroundings: Surroundings,
}

impl Rehearsals {
    /// With the environment of this process. `rehearse` is its own program.
    ///
    /// # Errors
    /// When the program's own file cannot be told.
    pub fn of_process() -> io::Result<Self> {
        Ok(Self::with_program(env::current_exe()?))
    }

    /// With the environment of this process and the `rehearse` at this place.
    pub fn with_program(program: PathBuf) -> Self {
        let state_root = env::temp_dir().join(format!("rehearsal-{}", Uid::current()));
        let ambient = env::vars_os().collect();
        Self {
            surroundings: Surroundings {
                ambient,
                state_root,
                program,
            },
        }
    }
}

impl Application for Rehearsals {
    type Project = Suite;

    fn load(&self, manifest: &Path) -> Result<Suite, Report> {
        let manifest = Manifest::load(manifest)?;
        Ok(Suite::new(manifest, self.surroundings.clone()))
    }

    fn general(&self) -> Result<Suite, Report> {
        let manifest = Manifest::parse(Path::new("rehearsal.yaml"), NAMELESS)?;
        Ok(Suite::new(manifest, self.surroundings.clone()))
    }

    fn suite(&self, manifest: &Path) -> Result<Suite, Report> {
        self.load(manifest)
    }

    fn suite_of(&self, manifest: Manifest) -> Result<Suite, Report> {
        Ok(Suite::new(manifest, self.surroundings.clone()))
    }

    fn examine(&self, suite: &Suite, interrupt: &Interrupt) -> Result<Examination, Report> {
        let manifest = suite.manifest();
        let queries = manifest.queries();
        if queries.is_empty() {
            return Ok(Examination::NothingToAsk);
        }
        let elsewhere = manifest.dependencies.iter().find(|(_, dependency)| {
            matches!(dependency.protocol, Protocol::Postgres { .. })
                && !matches!(dependency.provide, Provide::Embedded)
                || matches!(dependency.provide, Provide::Container { .. })
        });
        if let Some((name, _)) = elsewhere {
            return Ok(Examination::NotAsked(format!("`{name}` is not embedded")));
        }
        let refused = |error: &dyn std::fmt::Display| Ok(Examination::NotAsked(error.to_string()));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        let (runtime, directory) = match (runtime, tempfile::tempdir()) {
            (Ok(runtime), Ok(directory)) => (runtime, directory),
            (Err(error), _) | (_, Err(error)) => return refused(&error),
        };
        let examined = runtime.block_on(async {
            tokio::select! {
                examined = suite.examine(directory.path().to_owned()) => Some(examined),
                () = interrupt.raised() => None,
            }
        });
        match examined {
            None => Ok(Examination::Interrupted),
            Some(Ok(())) => Ok(Examination::Asked(queries.len())),
            Some(Err(VenueError::Queries(error))) => Err((*error).into()),
            Some(Err(error)) => refused(&error),
        }
    }

    fn begin_serving(&self) -> Result<(RunGuard, Search), RunError> {
        let Surroundings {
            ambient,
            state_root,
            ..
        } = self.surroundings.clone();
        let search = Search::from_variables(&ambient);
        let watchdog = self.surroundings.watchdog();
        let run = new_run_id();
        let guard = RunGuard::begin(RunOptions {
            run,
            state_root,
            ambient,
            watchdog,
        })?;
        Ok((guard, search))
    }

    fn clean(&self, say: &mut dyn FnMut(&str)) -> Result<(), StepError> {
        let state_root = &self.surroundings.state_root;
        let report = deployment::sweep(state_root).map_err(StepError::broken)?;
        let mut problems = Vec::new();
        for swept in report.swept {
            say(&format!("run {}", swept.run));
            for process in swept.killed {
                say(&format!("  killed {process}"));
            }
            for path in swept.removed {
                say(&format!("  removed {}", path.display()));
            }
            problems.extend(swept.problems);
        }
        for left in deployment::unrecorded(state_root, &self.surroundings.ambient) {
            say(&left);
        }
        // A live run would only have to make them again.
        if report.alive.is_empty() {
            for base in database::usual_bases() {
                match database::remove_templates(&base) {
                    Ok(removed) => removed.iter().for_each(|path| {
                        say(&format!("removed {}, a cached database", path.display()));
                    }),
                    Err(error) => problems.push(error.to_string()),
                }
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(StepError::broken(format!(
            "not all could be removed: {}",
            problems.join("; ")
        )))
    }
}

/// The `main` of a test target (`harness = false`) in which each scenario is a test. The
/// target's own program also serves as the harness's: as watchdog and as queue server.
pub fn test(target: &Target, manifest: &Path) -> ExitCode {
    if let Some(exit) = watch_if_asked() {
        return exit;
    }
    let rehearsals = match Rehearsals::of_process() {
        Ok(rehearsals) => rehearsals,
        Err(error) => return broken(&format!("cannot find the harness's own program: {error}")),
    };
    if env::args_os().nth(1).as_deref() == Some("serve".as_ref()) {
        return match cli::Surroundings::of_process() {
            Ok(mut surroundings) => {
                cli::main(&rehearsals, env::args_os(), &mut surroundings).into()
            }
            Err(error) => broken(&format!("cannot listen to signals: {error}")),
        };
    }
    libtest::main(target, || rehearsals.load(manifest))
}

fn broken(reason: &str) -> ExitCode {
    // A main has nobody else to tell.
    let _ = writeln!(io::stderr(), "{reason}");
    Exit::Broken.into()
}
