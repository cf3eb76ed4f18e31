//! One run of the harness on this machine, from its record on disk to the last thing
//! it removes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::environment::Variables;
use super::procfs::{self, StartTime};
use super::registry::{HARNESS, Registry, RegistryError};
use super::sweep::{self, SweptRun};
use super::watchdog::{Reexecute, Watchdog};
use crate::ids::RunId;

/// What a run needs to know of the machine.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Which run.
    pub run: RunId,
    /// Where runs keep their records, one folder each; made if missing. The same for
    /// all runs of one user, or the sweep will not find them.
    pub state_root: PathBuf,
    /// The harness's own environment; processes get what the allow-list lets through.
    pub ambient: Variables,
    /// How to start the watchdog.
    pub watchdog: Reexecute,
}

/// A run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its record cannot be made.
    #[error("run `{run}` cannot begin: its record {} cannot be made: {source}; is the directory writable?", path.display())]
    Record {
        /// Which run.
        run: RunId,
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another run has that id.
    #[error("run `{run}` cannot begin: {} exists already; choose another run id", path.display())]
    Taken {
        /// Which run.
        run: RunId,
        /// Where.
        path: PathBuf,
    },
    /// The id would not make a safe directory name.
    #[error("`{run}` cannot be a run's id: use 6 to 64 letters, digits and hyphens")]
    Id {
        /// The id.
        run: RunId,
    },
    /// The record cannot be written.
    #[error("run `{run}` cannot begin: {source}")]
    Registry {
        /// Which run.
        run: RunId,
        /// Why.
        source: RegistryError,
    },
    /// The watchdog cannot be started.
    #[error("run `{run}` cannot begin: its watchdog {} cannot be started: {source}", program.display())]
    Watchdog {
        /// Which run.
        run: RunId,
        /// What was to be executed.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Who runs a run. For people; the lock on the file is what counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Harness {
    pub(crate) pid: i32,
    pub(crate) started: StartTime,
    pub(crate) boot: String,
}

/// A run under way. Cleans up in [`RunGuard::finish`]; if it is only dropped, it does
/// the same and keeps quiet about problems; if the harness is killed, the watchdog
/// does it, and if that is killed too, the next sweep.
#[must_use = "dropping it ends the run"]
#[derive(Debug)]
pub struct RunGuard {
    registry: Registry,
    ending: Option<Ending>,
}

/// What must live as long as the run.
#[derive(Debug)]
struct Ending {
    directory: PathBuf,
    watchdog: Watchdog,
    /// Its lock tells sweeps that the run is alive.
    harness: File,
}

impl RunGuard {
    /// Makes the run's record and starts its watchdog. Does not sweep: see
    /// [`sweep::sweep`].
    ///
    /// # Errors
    /// When record or watchdog cannot be had.
    pub fn begin(options: RunOptions) -> Result<Self, RunError> {
        let RunOptions {
            run,
            state_root,
            ambient,
            watchdog,
        } = options;
        let sensible = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if !(6..=64).contains(&run.as_str().len()) || !run.as_str().bytes().all(sensible) {
            return Err(RunError::Id { run });
        }
        let directory = state_root.join(run.as_str());
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => RunError::Taken {
                run: run.clone(),
                path: directory.clone(),
            },
            _ => RunError::Record {
                run: run.clone(),
                path: directory.clone(),
                source,
            },
        };
        fs::create_dir_all(&state_root).map_err(failed)?;
        // Without it a sweep could find the folder before its lock is taken.
        let root_lock = sweep::lock_root(&state_root).map_err(failed)?;
        fs::create_dir(&directory).map_err(failed)?;
        let harness = record_harness(&directory).map_err(failed)?;
        drop(root_lock);
        let registry =
            Registry::create(run.clone(), directory.clone(), ambient).map_err(|source| {
                RunError::Registry {
                    run: run.clone(),
                    source,
                }
            })?;
        let watchdog = Watchdog::start(&watchdog, &directory).map_err(|source| {
            let _ = fs::remove_dir_all(&directory);
            RunError::Watchdog {
                run: run.clone(),
                program: watchdog.program.clone(),
                source,
            }
        })?;
        let ending = Some(Ending {
            directory,
            watchdog,
            harness,
        });
        Ok(Self { registry, ending })
    }

    /// The run.
    pub fn id(&self) -> &RunId {
        self.registry.run()
    }

    /// Where things to remove are recorded.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Kills and removes whatever of the run is left, and tells what that was: after
    /// an orderly end nothing but directories.
    pub async fn finish(mut self) -> SweptRun {
        let run = self.registry.run().clone();
        let ending = self.ending.take();
        let cut_logs = self.registry.cut_logs().clone();
        let cleaning = tokio::task::spawn_blocking(move || {
            let swept = ending.map(Ending::clean);
            cut_logs.close();
            swept
        })
        .await;
        cleaning
            .ok()
            .flatten()
            .unwrap_or_else(|| SweptRun::failed(run, "the cleaning thread panicked"))
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        if let Some(ending) = self.ending.take() {
            ending.clean();
        }
    }
}

impl Ending {
    fn clean(self) -> SweptRun {
        let swept = sweep::clean(&self.directory);
        // If something could not be removed, the watchdog takes the lock and tries again.
        drop(self.harness);
        self.watchdog.dismiss();
        swept
    }
}

fn record_harness(directory: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(directory.join(HARNESS))?;
    file.lock()?;
    let pid = Pid::this();
    let started = procfs::stat(pid).map_or(StartTime(0), |stat| stat.started);
    let harness = Harness {
        pid: pid.as_raw(),
        started,
        boot: procfs::boot()?,
    };
    file.write_all(&serde_json::to_vec(&harness)?)?;
    Ok(file)
}
