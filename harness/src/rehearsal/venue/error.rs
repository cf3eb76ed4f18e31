//! Why a run's surroundings could not be made ready.

use std::net::SocketAddr;
use std::time::Duration;

use crate::deployment::containers::EngineError;
use crate::deployment::readiness::NotReady;
use crate::deployment::{ExitOutcome, RunError, StartError};
use crate::embedded::database::DatabaseError;
use crate::ids::DependencyName;
use crate::manifest::{ManifestError, UnknownPlaceholder};
use crate::protocol::redis::{ClaimError, ServerError};
use crate::rehearsal::refused::why_of_database;

/// A run's surroundings could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum VenueError {
    /// The run could not begin.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Containers cannot be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A command of `build` or `prepare` could not be started.
    #[error("`{section}` of {manifest}: {source}")]
    Command {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// Why.
        source: StartError,
    },
    /// A command of `build` or `prepare` failed.
    #[error(
        "`{section}` of {manifest}: `{command}` {outcome}\n{output}\nits whole output is in {log}"
    )]
    CommandFailed {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// The command.
        command: String,
        /// How it ended.
        outcome: ExitOutcome,
        /// Its last lines.
        output: String,
        /// Its log.
        log: String,
    },
    /// A command of `build` or `prepare` took too long.
    #[error(
        "`{section}` of {manifest}: `{command}` had not ended after {within:?}; see {log}, or raise `limits.build`"
    )]
    CommandTooLong {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// The command.
        command: String,
        /// The limit.
        within: Duration,
        /// Its log.
        log: String,
    },
    /// A placeholder has no value here.
    #[error("`{section}` of {manifest}: {source}")]
    Placeholder {
        /// Which section.
        section: &'static str,
        /// The manifest.
        manifest: String,
        /// Which.
        source: UnknownPlaceholder,
    },
    /// No Redis.
    #[error("`{dependency}`: {source}")]
    Redis {
        /// Which dependency.
        dependency: DependencyName,
        /// Why.
        source: ServerError,
    },
    /// No database of an external Redis.
    #[error(
        "`{dependency}` at {address}: no database can be had: {source}; start the server, or mend `url` of `{dependency}` in the manifest"
    )]
    Claim {
        /// Which dependency.
        dependency: DependencyName,
        /// Where it is.
        address: SocketAddr,
        /// Why.
        source: ClaimError,
    },
    /// No Postgres.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The embedded queue server did not start.
    #[error("cannot start the embedded queue server: {0}")]
    QueueServer(#[source] StartError),
    /// The embedded queue server did not become ready.
    #[error(transparent)]
    QueueNotReady(Box<NotReady>),
    /// An address leads nowhere.
    #[error("`{dependency}`: {url} cannot be reached: {reason}")]
    Address {
        /// Which dependency.
        dependency: DependencyName,
        /// Its URL, without a password.
        url: String,
        /// Why.
        reason: String,
    },
    /// A database could not be made.
    #[error(
        "`{dependency}` at {address} (is the server up, and are its address, user and password right in the manifest?): cannot {what}: {}", why_of_database(.cause)
    )]
    Sql {
        /// Which dependency.
        dependency: DependencyName,
        /// Where it is.
        address: SocketAddr,
        /// What was tried.
        what: String,
        /// Why. Told above, and not again as what lies beneath.
        cause: sqlx::Error,
    },
    /// Queries of the manifest that the prepared databases refuse.
    #[error("{}", .0.plain())]
    Queries(Box<ManifestError>),
    /// A queue could not be made.
    #[error(
        "`{dependency}` at {address}: cannot make the queue `{queue}`: {reason}; start the server, or mend `url` of `{dependency}` in the manifest"
    )]
    Queue {
        /// Which dependency.
        dependency: DependencyName,
        /// Where it is.
        address: SocketAddr,
        /// Which queue.
        queue: String,
        /// Why.
        reason: String,
    },
}

impl From<NotReady> for VenueError {
    fn from(error: NotReady) -> Self {
        Self::QueueNotReady(Box::new(error))
    }
}
