//! The record of what a run leaves behind if it is not cleaned up: written to disk
//! before (directories) or as soon as (processes) a thing exists, so that somebody else
//! can clean up after a harness that was killed.
//!
//! ```text
//! <state root>/lock          held while runs begin and while a sweep picks dead ones
//! <state root>/<run>/harness     who runs it; locked for as long as that process lives
//! <state root>/<run>/leftovers   one JSON object a line
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::environment::Variables;
use super::log_bound::CutLogs;
use super::procfs::StartTime;
use crate::ids::RunId;

/// The file whose lock says that a run is alive.
pub(crate) const HARNESS: &str = "harness";
/// The file that lists what to clean up.
pub(crate) const LEFTOVERS: &str = "leftovers";

/// A thing that must be gone when its run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Leftover {
    /// A process, with its group.
    Process {
        /// What the run called it.
        name: String,
        /// Its pid.
        pid: i32,
        /// When it started: another process with that pid is not meant.
        started: StartTime,
    },
    /// All processes of a server that hide from their group and from their
    /// environment: those that execute this program in this directory.
    Server {
        /// What the run called it.
        name: String,
        /// The file they execute.
        program: PathBuf,
        /// The directory they work in.
        directory: PathBuf,
    },
    /// Every container, network and volume at a container engine that bears the run's
    /// label. Recorded before the first of them is made.
    Engine {
        /// The engine's address: `unix:///var/run/docker.sock`.
        host: String,
    },
    /// A directory with all that is in it. Its name must contain the run's id.
    Directory {
        /// Where.
        path: PathBuf,
    },
}

/// Something could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The record cannot be written.
    #[error("the run's record {} cannot be written: {source}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A directory cannot be made.
    #[error("the directory {} cannot be made: {source}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Removing it could destroy what is not the run's.
    #[error("{} is not recorded for removal: the last part of its path must contain the run's id `{run}`", path.display())]
    NotOurs {
        /// Which directory.
        path: PathBuf,
        /// The run.
        run: RunId,
    },
}

/// What a run leaves behind. Clones write to the same record.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    run: RunId,
    directory: PathBuf,
    ambient: Variables,
    leftovers: Mutex<File>,
    cut_logs: CutLogs,
}

impl Registry {
    pub(crate) fn create(
        run: RunId,
        directory: PathBuf,
        ambient: Variables,
    ) -> Result<Self, RegistryError> {
        let path = directory.join(LEFTOVERS);
        let open = OpenOptions::new().create(true).append(true).open(&path);
        let leftovers = Mutex::new(open.map_err(|source| RegistryError::Write { path, source })?);
        Ok(Self(Arc::new(Inner {
            run,
            directory,
            ambient,
            leftovers,
            cut_logs: CutLogs::default(),
        })))
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.0.run
    }

    /// Where the record stands. Removed with the run.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// What was cut out of the run's logs.
    pub(crate) fn cut_logs(&self) -> &CutLogs {
        &self.0.cut_logs
    }

    /// The environment that the allow-list is applied to.
    pub fn ambient(&self) -> &Variables {
        &self.0.ambient
    }

    /// Records a thing. Do it before a directory is made.
    ///
    /// # Errors
    /// When it cannot be written, or a directory is not recognisably the run's.
    pub fn register(&self, leftover: &Leftover) -> Result<(), RegistryError> {
        if let Leftover::Directory { path } = leftover
            && !is_ours(path, &self.0.run)
        {
            return Err(RegistryError::NotOurs {
                path: path.clone(),
                run: self.0.run.clone(),
            });
        }
        let failed = |source| RegistryError::Write {
            path: self.0.directory.join(LEFTOVERS),
            source,
        };
        let mut line = serde_json::to_vec(leftover).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let mut file = self
            .0
            .leftovers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(failed)
    }

    /// Makes `rehearse-<run>-<label>` below `parent`, readable by its owner only, and
    /// records it.
    ///
    /// # Errors
    /// When it exists already, or cannot be made or recorded.
    pub fn make_directory(&self, parent: &Path, label: &str) -> Result<PathBuf, RegistryError> {
        let path = parent.join(format!("rehearse-{}-{label}", self.0.run));
        self.register(&Leftover::Directory { path: path.clone() })?;
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|source| RegistryError::Directory {
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }
}

/// Whether a directory bears the run's id in its own name.
pub(crate) fn is_ours(path: &Path, run: &RunId) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.is_absolute()
        && !run.as_str().is_empty()
        && name.is_some_and(|name| name.contains(run.as_str()))
}
