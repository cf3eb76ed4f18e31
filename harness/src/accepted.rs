//! Lists of what was accepted, with which a release gate compares what it finds.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AcceptedError {
    /// The file cannot be read or written.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It holds something else.
    #[error("{}:{line} is no list of accepted {of}: {reason}", .path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// Where.
        line: usize,
        /// Of what it should be.
        of: &'static str,
        /// Why.
        reason: String,
    },
}

/// Reads a list of such things.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, of: &'static str) -> Result<T, AcceptedError> {
    let text = fs::read_to_string(path).map_err(|source| AcceptedError::File {
        what: "read",
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_str(&text).map_err(|error| AcceptedError::Content {
        path: path.to_owned(),
        line: error.line(),
        of,
        reason: error.to_string(),
    })
}

/// Writes a list.
pub(crate) fn write<T: Serialize>(list: &T, path: &Path) -> Result<(), AcceptedError> {
    let mut text = serde_json::to_string_pretty(list).expect("a list is plain data");
    text.push('\n');
    fs::write(path, text).map_err(|source| AcceptedError::File {
        what: "write",
        path: path.to_owned(),
        source,
    })
}
