//! Systems in Python: their packages, installed once below `target/`, and copies of their
//! folders to run and to break.
//!
//! Where Python or the packages cannot be had, a test says `SKIPPED` and leaves a file that
//! says why; with `REHEARSAL_REQUIRE_PYTHON=1` it fails.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of Python programs below `tests/`, with the packages that they need.
pub(crate) struct Programs {
    /// The folder's name.
    pub(crate) folder: &'static str,
    /// A statement that works only where the packages are there.
    pub(crate) imports: &'static str,
}

impl Programs {
    pub(crate) fn source(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(self.folder)
    }

    /// A `PATH` on which `python3` has the packages; nothing where they cannot be had.
    pub(crate) fn path(&self) -> Option<OsString> {
        match self.with_packages() {
            Ok(path) => {
                let _ = fs::remove_file(self.marker());
                Some(path)
            }
            Err(reason) => {
                self.skip(&reason);
                None
            }
        }
    }

    fn with_packages(&self) -> Result<OsString, String> {
        let home = self.below_target("");
        let bin = home.join("bin");
        // Each test may be a process of its own.
        let lock = File::create(self.below_target(".lock")).map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| error.to_string())?;
        let requirements = self.source().join("requirements.txt");
        let wanted = fs::read_to_string(&requirements).unwrap();
        let installed = home.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) && self.works(&bin) {
            return Ok(first_on_path(&bin));
        }
        attempt(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&home),
        )?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        attempt(
            Command::new(bin.join("python3"))
                .args(pip)
                .arg("--requirement")
                .arg(&requirements),
        )?;
        fs::write(installed, wanted).unwrap();
        Ok(first_on_path(&bin))
    }

    fn works(&self, bin: &Path) -> bool {
        attempt(Command::new(bin.join("python3")).args(["-c", self.imports])).is_ok()
    }

    fn skip(&self, reason: &str) {
        assert!(
            env::var_os("REHEARSAL_REQUIRE_PYTHON").is_none_or(|wanted| wanted != "1"),
            "{reason}"
        );
        // Past the capture of the test runner, which would hide it.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {}: {reason}", self.folder);
        let _ = fs::write(self.marker(), reason);
    }

    fn marker(&self) -> PathBuf {
        self.below_target(".skipped")
    }

    fn below_target(&self, suffix: &str) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}{suffix}", self.folder))
    }
}

/// Copies a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            if entry.file_name() != "__pycache__" {
                copy(&entry.path(), &target);
            }
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// All that a program printed.
pub(crate) fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn attempt(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{command:?} failed: {}", said(&output).trim())),
        Err(error) => Err(format!("{command:?} cannot be run: {error}")),
    }
}

fn first_on_path(bin: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = std::iter::once(bin.to_owned()).chain(env::split_paths(&path));
    env::join_paths(places).unwrap()
}
