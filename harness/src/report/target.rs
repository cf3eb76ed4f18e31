//! Where a report goes.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::{ReportError, file};

/// A stream that several reports write to, one after the other.
#[derive(Clone)]
pub struct Stream(Arc<Mutex<Box<dyn Write + Send>>>);

impl Stream {
    /// Writes there.
    pub fn new(to: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(to)))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        to.flush()
    }
}

/// Where a report goes.
#[derive(Clone)]
pub enum Target {
    /// A file, whole or not at all.
    File(PathBuf),
    /// The end of a file that others write to, too.
    Appended(PathBuf),
    /// A stream, once it is whole.
    Stream(Stream),
}

impl<P: Into<PathBuf>> From<P> for Target {
    fn from(path: P) -> Self {
        Self::File(path.into())
    }
}

impl Target {
    /// Whether a part of a report may be written, to be written anew later.
    pub(super) fn takes_drafts(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// For errors.
    pub(super) fn name(&self) -> PathBuf {
        match self {
            Self::File(path) | Self::Appended(path) => path.clone(),
            Self::Stream(_) => PathBuf::from("-"),
        }
    }

    pub(super) fn write(&mut self, content: &str) -> Result<(), ReportError> {
        match self {
            Self::File(path) => file::write(path, content),
            Self::Appended(path) => {
                let failed = |source| ReportError::File {
                    path: path.clone(),
                    source,
                };
                let opened = fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(&*path);
                let written = opened.and_then(|mut file| file.write_all(content.as_bytes()));
                written.map_err(failed)
            }
            Self::Stream(stream) => {
                stream.write_all(content.as_bytes())?;
                Ok(stream.flush()?)
            }
        }
    }
}
