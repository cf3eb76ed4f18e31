//! A mark that a process cannot shake off by leaving its session and throwing away its
//! environment: the hard limit of its resident set, which Linux hands down through every
//! fork and exec and otherwise ignores (setrlimit(2)).
//!
//! A subreaper would see orphans as well, but not whose they are, and not once it is dead
//! itself.

use std::fs;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;

use crate::ids::RunId;

/// What `/proc/PID/limits` calls the limit.
const LIMIT: &str = "Max resident set";

/// The mark of a run's processes, the same in every build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    pub(crate) fn of(run: &RunId) -> Self {
        // FNV-1a. No machine has so much memory that the limit could be a real one.
        let hash = run
            .as_str()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        Self((1 << 62) | (hash >> 2))
    }

    /// Marks this process and all that it will start. System calls only. Where somebody
    /// set a limit before, only root can raise it: there the mark is left out.
    pub(super) fn put(self) {
        let soft = getrlimit(Resource::RLIMIT_RSS).map_or(self.0, |(soft, _)| soft.min(self.0));
        let _ = setrlimit(Resource::RLIMIT_RSS, soft, self.0);
    }

    /// Whether a process bears it.
    pub(super) fn is_on(self, pid: Pid) -> bool {
        fs::read_to_string(format!("/proc/{pid}/limits"))
            .is_ok_and(|limits| self.stands_in(&limits))
    }

    fn stands_in(self, limits: &str) -> bool {
        let hard = limits
            .lines()
            .find_map(|line| line.strip_prefix(LIMIT))
            .and_then(|fields| fields.split_ascii_whitespace().nth(1));
        hard.is_some_and(|hard| hard.parse() == Ok(self.0))
    }
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
        assert!(mark.stands_in(&limits(&mark.0.to_string())));
        assert!(!mark.stands_in(&limits("unlimited")));
        assert_ne!(mark, Mark::of(&RunId::new("20261130-073429-abfd28")));
    }
}
