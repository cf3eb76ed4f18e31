//! What can go wrong with the embedded database.

use std::io;
use std::path::{Path, PathBuf};

use super::installation::{MINIMUM, Origin};
use crate::deployment::readiness::NotReady;
use crate::deployment::{ExitOutcome, RegistryError, StartError};

/// The embedded database cannot be had, or does not do as told.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// No installation was found, nor could one be fetched.
    #[error(
        "no Postgres server of version {MINIMUM} or later was found\n\
         looked at:\n{}\n\
         any one of these helps:\n  \
           apt-get install postgresql      Debian, Ubuntu\n  \
           brew install postgresql         macOS\n  \
           PG_BIN=/path/to/postgresql/bin  an installation that stands elsewhere\n  \
           {fetch}",
        list(looked_at)
    )]
    NotFound {
        /// Each place with what was wrong with it.
        looked_at: Vec<String>,
        /// The command that fetches one.
        fetch: String,
    },
    /// The installation that was asked for cannot be used.
    #[error("the Postgres installation {} ({origin}) cannot be used: {reason}", path.display())]
    Unusable {
        /// Its directory of programs.
        path: PathBuf,
        /// Who named it.
        origin: Origin,
        /// What is wrong with it.
        reason: String,
    },
    /// As root: Postgres refuses to run, and there is nobody else to run it as.
    #[error(
        "Postgres refuses to run as root, and neither `postgres` nor `nobody` is an account here; \
         run as another user, or `useradd --system postgres`"
    )]
    NoAccount,
    /// `initdb` failed.
    #[error("initdb {outcome}; it said:\n{}", list(output))]
    Initdb {
        /// How it ended.
        outcome: ExitOutcome,
        /// The end of its output.
        output: Vec<String>,
    },
    /// The port that was asked for is taken.
    #[error(
        "the database cannot listen on 127.0.0.1:{port}: the port is in use; use port 0 to take a free one"
    )]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// The data directory belongs to something else.
    #[error("{} is no data directory for this server: {reason}", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A name that would have to be quoted everywhere.
    #[error(
        "`{name}` cannot be a database's name: use 1 to 63 lower-case letters, digits, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The server cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The server does not answer.
    #[error("the database does not answer: {0}")]
    NotReady(Box<NotReady>),
    /// The server ended by itself.
    #[error(
        "the database {outcome} while it was in use; the end of its output:\n{}",
        list(output)
    )]
    Died {
        /// How it ended.
        outcome: ExitOutcome,
        /// The end of its output.
        output: Vec<String>,
    },
    /// What is to be removed later cannot be recorded.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A statement of ours failed.
    #[error("the database refused to {what}: {source}")]
    Refused {
        /// What was wanted.
        what: String,
        /// What it said.
        source: sqlx::Error,
    },
    /// A file or directory cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was wanted.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl From<NotReady> for DatabaseError {
    fn from(error: NotReady) -> Self {
        Self::NotReady(Box::new(error))
    }
}

impl DatabaseError {
    pub(super) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { what, path, source }
    }
}

fn list(lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
