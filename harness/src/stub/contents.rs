//! What messages carry, for stubs that serve it.

use bytes::Bytes;

/// What one message carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub bytes: Bytes,
    /// Their media type.
    pub media_type: String,
}

/// Knows the content of every message of a rehearsal.
pub trait Contents: Send + Sync + 'static {
    /// The content of the message with this name.
    fn of_message(&self, name: &str) -> Option<Content>;

    /// The content of the message that became this job.
    fn of_job(&self, job: &str) -> Option<Content>;
}
