//! What a dependency does instead of its work.

use std::fmt;

/// What a dependency does instead of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Connections are refused. A connection that was there carries on the call it has
    /// and is reset at its next one; one without any call yet carries one.
    Refuses,
    /// Connections are reset, those that are there at once.
    Resets,
    /// Nothing gets through and nothing comes back until it is over; then all goes on.
    Hangs,
    /// What is sent is swallowed: nothing gets through, and no answer ever comes.
    Swallows,
    /// It answers with an error and does nothing.
    Answers(ErrorReply),
    /// It answers what reads, and refuses what writes (SQLSTATE 25006).
    ReadsOnly,
    /// It does what it is asked and closes the connection without an answer.
    PerformsAndCloses,
    /// It does what it is asked; the answer comes when the outage is over.
    PerformsAndHangs,
    /// It does what it is asked and answers with an error.
    PerformsAndAnswers(ErrorReply),
    /// Its processes are stopped (SIGSTOP): connections are made, nothing is answered.
    Freezes,
    /// Its processes are killed (SIGKILL). They are started again when it is over.
    Dies,
}

/// An error that a dependency answers with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorReply {
    /// An HTTP status.
    Status(u16),
    /// A protocol's own code: an SQLSTATE, or an error of SQS.
    Code(String),
}

impl Way {
    /// Whether it needs a server that no other rehearsal uses.
    pub fn is_real(&self) -> bool {
        matches!(self, Self::Freezes | Self::Dies)
    }
}

impl fmt::Display for ErrorReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(f),
            Self::Code(code) => f.write_str(code),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuses => f.write_str("refuses connections"),
            Self::Resets => f.write_str("resets connections"),
            Self::Hangs => f.write_str("hangs"),
            Self::Swallows => f.write_str("swallows everything"),
            Self::Answers(error) => write!(f, "answers {error}"),
            Self::ReadsOnly => f.write_str("is read-only"),
            Self::PerformsAndCloses => f.write_str("performs and closes"),
            Self::PerformsAndHangs => f.write_str("performs and hangs"),
            Self::PerformsAndAnswers(error) => write!(f, "performs and answers {error}"),
            Self::Freezes => f.write_str("freezes"),
            Self::Dies => f.write_str("dies"),
        }
    }
}
