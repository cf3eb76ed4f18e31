//! Reports as files: written beside their place and moved there, so that a reader never
//! sees half of one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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

/// Writes a whole file at once.
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
    let mut draft = tempfile::Builder::new()
        .prefix(".report-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(directory)
        .map_err(failed)?;
    io::Write::write_all(&mut draft, content.as_bytes()).map_err(failed)?;
    draft.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
