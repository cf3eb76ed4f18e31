//! A mark that a process cannot shake off by leaving its session and throwing away its
//! environment: the hard limit of its resident set, which Linux hands down through every
//! fork and exec and otherwise ignores (setrlimit(2)).
//!
//! A subreaper would see orphans as well, but not whose they are, and not once it is dead
//! itself.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;

use crate::ids::RunId;

/// What `/proc/PID/limits` calls the limit.
const LIMIT: &str = "Max resident set";

/// How many bits tell the started processes of a run apart; so many begin again from 0.
const OWN_BITS: u32 = 20;
const OWN: u64 = (1 << OWN_BITS) - 1;

/// The mark of a started process and all that comes of it: its run's, the same in every
/// build, and a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    /// For the next process that this harness starts.
    pub(crate) fn next_of(run: &RunId) -> Self {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let own = STARTED.fetch_add(1, Ordering::Relaxed) & OWN;
        Self(Self::of(run).0 | own)
    }

    /// What all marks of a run have in common.
    pub(crate) fn of(run: &RunId) -> Self {
        // FNV-1a. No machine has so much memory that the limit could be a real one.
        let hash = run
            .as_str()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self((1 << 62) | ((hash >> 2) & !OWN))
    }

    /// Marks this process and all that it will start. System calls only. Where somebody
    /// set a limit before, only root can raise it: there the mark is left out.
    pub(super) fn put(self) {
        let soft = getrlimit(Resource::RLIMIT_RSS).map_or(self.0, |(soft, _)| soft.min(self.0));
        let _ = setrlimit(Resource::RLIMIT_RSS, soft, self.0);
    }

    /// Whether a process came of the same start.
    pub(super) fn is_on(self, pid: Pid) -> bool {
        read(pid) == Some(self)
    }

    /// Whether a process came of any start of the same run.
    pub(super) fn is_of_run(self, pid: Pid) -> bool {
        read(pid).is_some_and(|mark| mark.0 & !OWN == self.0 & !OWN)
    }
}

fn read(pid: Pid) -> Option<Mark> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    written(&limits)
}

fn written(limits: &str) -> Option<Mark> {
    let hard = limits
        .lines()
        .find_map(|line| line.strip_prefix(LIMIT))
        .and_then(|fields| fields.split_ascii_whitespace().nth(1));
    hard?.parse().ok().map(Mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_the_kernel_writes_it() {
        let mark = Mark::of(&RunId::new("20261130-073429-abfd27"));
        let limits = |hard: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max stack size            8388608              {}  bytes     \n\
                 Max resident set          unlimited            {hard}  bytes     \n",
                mark.0
            )
        };
        assert_eq!(written(&limits(&mark.0.to_string())), Some(mark));
        assert_eq!(written(&limits("unlimited")), None);
        assert_ne!(mark, Mark::of(&RunId::new("20261130-073429-abfd28")));
    }

    #[test]
    fn starts_of_a_run_differ_and_have_the_run_in_common() {
        let run = RunId::new("20261130-073429-abfd27");
        let (one, other) = (Mark::next_of(&run), Mark::next_of(&run));
        assert_ne!(one, other);
        assert_eq!(one.0 & !OWN, other.0 & !OWN);
        assert_eq!(one.0 & !OWN, Mark::of(&run).0);
    }
}
