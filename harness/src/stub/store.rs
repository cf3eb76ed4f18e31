//! What a stub keeps: content by key, as it was put, posted and deleted. A message that was
//! declared has its content from the beginning, unless the system puts it there by its job.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::contents::Content;
use crate::place::match_path;

/// The content of one stub, by key. What is gone was deleted.
#[derive(Default)]
pub(super) struct Store(Mutex<BTreeMap<String, Option<Content>>>);

impl Store {
    /// The content of a key; `first` is what stands there before anybody touched it.
    pub(super) fn get(&self, key: &str, first: Option<Content>) -> Option<Content> {
        match self.kept().get(key) {
            Some(kept) => kept.clone(),
            None => first,
        }
    }

    pub(super) fn put(&self, key: String, content: Content) {
        self.kept().insert(key, Some(content));
    }

    pub(super) fn delete(&self, key: String) {
        self.kept().insert(key, None);
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Option<Content>>> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Under which key a request's content is kept: its path, and behind a path that names nothing
/// of its own the job. So `POST /blobs` of a job and `GET /blobs/{job}` mean the same.
pub(super) fn key(pattern: &str, path: &str, job: Option<&str>) -> String {
    let names = pattern
        .split('/')
        .any(|segment| segment == "*" || segment.starts_with('{'));
    let path = path.trim_end_matches('/');
    match job {
        Some(job) if !names => format!("{path}/{job}"),
        _ => path.to_owned(),
    }
}

/// Whether two path patterns may mean the same keys: one matches the other, or the other with a
/// name behind it.
pub(super) fn same_family(one: &str, other: &str) -> bool {
    let collection = |one: &str, other: &str| match other.rsplit_once('/') {
        Some((parent, last)) => parent == one && (last == "*" || last.starts_with('{')),
        None => false,
    };
    match_path(one, other).is_some() || collection(one, other) || collection(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_path_or_a_job_behind_it() {
        assert_eq!(key("/blobs/{message}", "/blobs/M1", Some("j")), "/blobs/M1");
        assert_eq!(key("/blobs", "/blobs", Some("j")), "/blobs/j");
        assert_eq!(key("/state", "/state", None), "/state");
        assert!(same_family("/blobs/{job}", "/blobs/{job}"));
        assert!(same_family("/blobs", "/blobs/{job}") && same_family("/blobs/*", "/blobs"));
        assert!(!same_family("/blobs/{job}", "/mails/{job}"));
    }
}
