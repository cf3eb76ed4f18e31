//! The names of queues in one scenario. Scenarios side by side share a server, and a
//! library that creates or looks up its queues by name must not meet another scenario's:
//! a queue that the system calls `jobs` is called `RUN-7-jobs` at the server.
//!
//! The system sees its own names only; the history has those of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};

/// The longest name of a queue.
const LONGEST: usize = 80;
const FIFO: &str = ".fifo";

/// The names of one scenario at one queue service.
#[derive(Debug, Default)]
pub struct Names {
    /// What all names at the server begin with; nothing if they are the system's own.
    prefix: String,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The system's name for each name at the server that was made of it.
    own: BTreeMap<String, String>,
    declared: BTreeSet<String>,
    undeclared: BTreeMap<String, Undeclared>,
}

/// What the system did with a queue that the manifest does not declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undeclared {
    /// How many messages it took from it.
    pub taken: usize,
}

impl Names {
    /// Names that begin with this at the server.
    pub fn beginning_with(prefix: &str) -> Self {
        Self {
            prefix: format!("{prefix}-"),
            seen: Mutex::default(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all names at the server begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Notes a queue of the manifest, and returns its name at the server.
    pub fn declare(&self, name: &str) -> String {
        let at_server = self.at_server(name);
        self.seen().declared.insert(at_server.clone());
        at_server
    }

    /// The name at the server of what the system calls so. What is one already stays.
    pub fn at_server(&self, name: &str) -> String {
        if name.starts_with(&self.prefix) {
            return name.to_owned();
        }
        let whole = format!("{}{name}", self.prefix);
        let at_server = if whole.len() > LONGEST && name.len() <= LONGEST {
            self.shortened(name)
        } else {
            whole
        };
        let mut seen = self.seen();
        if !seen.own.contains_key(&at_server) {
            seen.own.insert(at_server.clone(), name.to_owned());
        }
        at_server
    }

    /// What the server would take of a name that is too long with its prefix.
    fn shortened(&self, name: &str) -> String {
        let ending = if name.ends_with(FIFO) { FIFO } else { "" };
        let digest = Sha256::digest(name)
            .iter()
            .take(6)
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        let room = LONGEST.saturating_sub(self.prefix.len() + 1 + digest.len() + ending.len());
        let stem: String = name.chars().take(room).collect();
        format!("{}{stem}-{digest}{ending}", self.prefix)
    }

    /// What the system calls a queue of the server; nothing if it is another scenario's.
    pub fn of_system(&self, at_server: &str) -> Option<String> {
        if let Some(name) = self.seen().own.get(at_server) {
            return Some(name.clone());
        }
        let name = at_server.strip_prefix(&self.prefix)?;
        Some(name.to_owned())
    }

    /// Notes what the system did to a queue, by its name at the server.
    pub(super) fn note(&self, at_server: &str, taken: usize) {
        let mut seen = self.seen();
        if self.prefix.is_empty() || seen.declared.contains(at_server) {
            return;
        }
        let name = at_server.to_owned();
        seen.undeclared.entry(name).or_default().taken += taken;
    }

    /// What the system made or used and nobody declared, by its name at the server.
    pub fn undeclared(&self) -> BTreeMap<String, Undeclared> {
        self.seen().undeclared.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_to_the_server_and_comes_back() {
        let names = Names::beginning_with("run-1");
        for name in [
            "jobs",
            "jobs.fifo",
            &"x".repeat(80),
            &format!("{}.fifo", "y".repeat(75)),
        ] {
            let at_server = names.at_server(name);
            assert!(
                at_server.starts_with("run-1-") && at_server.len() <= 80,
                "{at_server}"
            );
            assert_eq!(at_server.ends_with(FIFO), name.ends_with(FIFO));
            assert_eq!(names.of_system(&at_server).as_deref(), Some(name));
            assert_eq!(names.at_server(&at_server), at_server);
        }
        assert_eq!(names.of_system("run-2-jobs"), None);
        assert_eq!(names.of_system("run-1-later").as_deref(), Some("later"));
    }

    #[test]
    fn what_is_too_long_anyway_is_the_server_s_to_refuse() {
        let names = Names::beginning_with("run-1");
        assert!(names.at_server(&"x".repeat(81)).len() > 80);
    }

    #[test]
    fn without_a_prefix_all_stays() {
        let names = Names::default();
        assert_eq!(names.at_server("jobs"), "jobs");
        assert_eq!(names.of_system("jobs").as_deref(), Some("jobs"));
        names.note("jobs", 1);
        assert!(names.undeclared().is_empty());
    }

    #[test]
    fn only_what_is_not_declared_is_noted() {
        let names = Names::beginning_with("run-1");
        let jobs = names.declare("jobs");
        names.note(&jobs, 3);
        names.note("run-1-other", 0);
        names.note("run-1-other", 2);
        let expected = BTreeMap::from([("run-1-other".to_owned(), Undeclared { taken: 2 })]);
        assert_eq!(names.undeclared(), expected);
    }
}
