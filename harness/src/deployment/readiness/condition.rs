//! A condition that makes a process ready, whoever watches it.

use std::fmt;
use std::future::{Future, ready};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;

/// What was seen last while waiting; shown when the wait was in vain.
#[derive(Clone, Debug, Default)]
pub struct Seen(Arc<Mutex<Option<String>>>);

impl Seen {
    /// Notes what was seen.
    pub fn note(&self, seen: impl Into<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen.into());
    }

    /// What was noted last.
    pub fn last(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A condition that makes a process ready.
pub struct Condition {
    pub(super) expected: String,
    pub(super) seen: Seen,
    pub(super) holds: BoxFuture<'static, ()>,
}

impl Condition {
    /// Holds when `watch` resolves. `expected` completes the sentence "expected …";
    /// `watch` gets a place to note what it saw instead.
    pub fn new<F>(expected: impl Into<String>, watch: impl FnOnce(Seen) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let seen = Seen::default();
        Self {
            expected: expected.into(),
            holds: Box::pin(watch(seen.clone())),
            seen,
        }
    }

    /// Holds at once.
    pub fn started() -> Self {
        Self::new("nothing but its start", |_| ready(()))
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condition")
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}
