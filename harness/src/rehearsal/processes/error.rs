//! Why a process cannot be run.

use std::sync::Arc;

use nix::sys::signal::Signal;

use crate::deployment::readiness::NotReady;
use crate::deployment::{ExitOutcome, SeatError, StartError};
use crate::ids::{DependencyName, Incarnation, RoleName};
use crate::manifest::UnknownPlaceholder;

/// A process could not be run as the scenario needs it.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It did not become ready.
    #[error(transparent)]
    NotReady(Box<NotReady>),
    /// Its taps could not be opened.
    #[error("cannot open a tap for {incarnation} in front of `{dependency}`: {source}")]
    Tap {
        /// Whose.
        incarnation: Incarnation,
        /// In front of what.
        dependency: DependencyName,
        /// Why.
        source: std::io::Error,
    },
    /// A placeholder of the manifest has no value here.
    #[error("the command of `{role}`: {source}")]
    Placeholder {
        /// Whose command.
        role: RoleName,
        /// Which.
        source: UnknownPlaceholder,
    },
    /// It died again and again before it was ready, or without ever making a call.
    #[error(
        "`{process}` died {times} times in a row before it did anything; the last time it {outcome}\nthe end of its output ({log}):{output}"
    )]
    CrashLoop {
        /// Which.
        process: String,
        /// How often.
        times: u32,
        /// How it ended last.
        outcome: ExitOutcome,
        /// Where its output is.
        log: String,
        /// Its last lines, each on a line of its own.
        output: String,
    },
    /// The scenario asks for a process that does not run.
    #[error("no `{process}` is running")]
    NotRunning {
        /// Which.
        process: String,
    },
    /// It could not be cut off, or joined again.
    #[error(transparent)]
    Seat(#[from] SeatError),
    /// A signal had no effect.
    #[error("{signal} to {process}: {reason}")]
    Signal {
        /// Whom.
        process: String,
        /// What.
        signal: Signal,
        /// Why not.
        reason: String,
    },
    /// It cannot be run; an earlier message says why.
    #[error("{0}")]
    Broken(Arc<ProcessError>),
}

impl From<NotReady> for ProcessError {
    fn from(error: NotReady) -> Self {
        Self::NotReady(Box::new(error))
    }
}
