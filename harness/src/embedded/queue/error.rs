//! Why a queue server cannot start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A queue server did not start.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The address cannot be listened on.
    #[error("the queue server cannot listen on {address}: {reason}; use port 0 to take a free one")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        #[source]
        reason: io::Error,
    },
    /// The harness serves on loopback only.
    #[error(
        "the queue server does not listen on {address}: it checks no credentials, so it serves loopback addresses only; use 127.0.0.1"
    )]
    NotLoopback {
        /// The address asked for.
        address: SocketAddr,
    },
    /// The account is not twelve digits.
    #[error("`{0}` is not an account id; use twelve digits, as in 000000000000")]
    Account(String),
    /// Another server has the journal open.
    #[error(
        "the journal in {directory} is in use by another queue server; stop that one or name another directory"
    )]
    InUse {
        /// The directory asked for.
        directory: PathBuf,
    },
    /// The journal cannot be understood.
    #[error("the journal in {directory} cannot be replayed: {reason}; move it away to start empty")]
    Damaged {
        /// The directory asked for.
        directory: PathBuf,
        /// Which line, and what is wrong with it.
        reason: String,
    },
    /// The journal cannot be read or written.
    #[error(
        "the journal in {directory} cannot be opened: {reason}; name a directory that can be written"
    )]
    Journal {
        /// The directory asked for.
        directory: PathBuf,
        /// What the system said.
        #[source]
        reason: io::Error,
    },
}
