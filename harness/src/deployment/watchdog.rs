//! A process that outlives the harness by a moment. It holds one end of a pipe; when
//! the other end closes, however the harness ended, it cleans up after the run.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::environment::Variables;
use super::registry::HARNESS;
use super::spawn::{Launch, Ties};
use super::sweep::{self, SweptRun};

/// How to start the watchdog: the harness's own program with a hidden subcommand that
/// calls [`guard`]. The run's folder is added as the last argument.
#[derive(Clone, Debug)]
pub struct Reexecute {
    /// The program.
    pub program: PathBuf,
    /// Its arguments before the folder.
    pub arguments: Vec<OsString>,
}

/// The body of the watchdog: waits until `harness` ends, which is when the harness is
/// dead or its run is over, and then cleans up what is left. None if nothing was.
///
/// # Errors
/// When the run's lock cannot be taken.
pub fn guard(mut harness: impl Read, run_directory: &Path) -> io::Result<Option<SweptRun>> {
    io::copy(&mut harness, &mut io::sink())?;
    let lock = match File::open(run_directory.join(HARNESS)) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    lock.lock()?;
    // A sweep may have been quicker.
    Ok(run_directory.is_dir().then(|| sweep::clean(run_directory)))
}

/// The harness's handle of its watchdog.
#[derive(Debug)]
pub(crate) struct Watchdog(Child);

impl Watchdog {
    pub(crate) fn start(reexecute: &Reexecute, run_directory: &Path) -> io::Result<Self> {
        let nothing = || fs::OpenOptions::new().write(true).open("/dev/null");
        let mut arguments = reexecute.arguments.clone();
        arguments.push(run_directory.into());
        // No run id in its environment: it must not find itself.
        let launch = Launch {
            program: reexecute.program.clone(),
            arguments,
            variables: Variables::new(),
            directory: PathBuf::from("/"),
            stdin: Stdio::piped(),
            stdout: nothing()?,
            stderr: nothing()?,
            account: None,
            memory: None,
            mark: None,
            ties: Ties::None,
        };
        Ok(Self(launch.spawn()?))
    }

    /// Lets it go once the run is cleaned up, and waits until it has.
    pub(crate) fn dismiss(mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
