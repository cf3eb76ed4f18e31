//! Reports as files: written beside their place and moved there, so that a reader never
//! sees half of one.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// A report cannot be written.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ReportError {
    /// A file.
    #[error("cannot write the report `{}`: {source}", .path.display())]
    #[diagnostic(help("`--reports DIR` and `--report KIND=PATH` choose other places"))]
    File {
        /// Its place.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What it should hold cannot be written down.
    #[error("cannot make the report `{}`: {reason}", .path.display())]
    Content {
        /// Its place.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The terminal.
    #[error("cannot write to the terminal: {0}")]
    Output(#[from] io::Error),
}

/// Writes a whole file at once. What stands there and is no file (a device, a pipe, a
/// link) is written to and stays what it is.
pub(super) fn write(path: &Path, content: &str) -> Result<(), ReportError> {
    let failed = |source| ReportError::File {
        path: path.to_owned(),
        source,
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(directory).map_err(failed)?;
    if fs::symlink_metadata(path).is_ok_and(|standing| !standing.is_file()) {
        return write_through(path, content).map_err(failed);
    }
    let mut draft = tempfile::Builder::new()
        .prefix(".report-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(directory)
        .map_err(failed)?;
    draft.write_all(content.as_bytes()).map_err(failed)?;
    draft.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A pipe that nobody reads is refused, not waited for.
fn write_through(path: &Path, content: &str) -> io::Result<()> {
    let mut standing = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)?;
    fcntl(&standing, FcntlArg::F_SETFL(OFlag::empty()))?;
    standing.write_all(content.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        symlink(&file, &link).unwrap();
        write(&link, "one, long").unwrap();
        write(&link, "two").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "two");
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        write(&pipe, "three").unwrap_err();
        assert!(!pipe.symlink_metadata().unwrap().is_file());
    }
}
