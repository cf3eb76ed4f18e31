//! The end of processes that are not our children.

use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{PidfdFlags, pidfd_open};

use super::procfs::{self, Stat};

/// How long one wait takes at most: somebody may have been born meanwhile.
const RELOOK: Duration = Duration::from_millis(50);
/// Between two looks where the kernel has no handles for processes (before Linux 5.3).
const TICK: Duration = Duration::from_millis(1);

/// Kills all that this is true of, and waits until none of them is alive, or for so long;
/// `strike` comes before each look. Blocks.
pub(super) fn end_all(
    within: Duration,
    is_meant: impl Fn(Pid, &Stat) -> bool,
    mut strike: impl FnMut(),
) {
    let begun = Instant::now();
    loop {
        strike();
        let mut alive = procfs::processes();
        alive.retain(|(pid, stat)| !stat.is_dead() && is_meant(*pid, stat));
        if alive.is_empty() || begun.elapsed() > within {
            return;
        }
        let alive: Vec<Pid> = alive.into_iter().map(|(pid, _)| pid).collect();
        for pid in &alive {
            let _ = kill(*pid, Signal::SIGKILL);
        }
        wait(&alive);
    }
}

/// Waits until all of these are dead, reaped or not, or it is time to look again.
pub(super) fn wait(pids: &[Pid]) {
    let begun = Instant::now();
    let mut handles = 0;
    for pid in pids {
        let Some(known) = rustix::process::Pid::from_raw(pid.as_raw()) else {
            continue;
        };
        let handle = match pidfd_open(known, PidfdFlags::empty()) {
            Ok(handle) => handle,
            // Dead and reaped.
            Err(rustix::io::Errno::SRCH) => {
                handles += 1;
                continue;
            }
            Err(_) => continue,
        };
        handles += 1;
        let left = RELOOK.saturating_sub(begun.elapsed());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
        // Readable once it is dead. An interrupted wait is only a shorter one.
        let _ = poll(
            &mut [PollFd::new(handle.as_fd(), PollFlags::POLLIN)],
            timeout,
        );
    }
    if handles == 0 {
        thread::sleep(TICK);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn it_ends_with_the_death_or_to_look_again() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        wait(&[pid]);
        assert!(procfs::stat(pid).is_some_and(|stat| !stat.is_dead()));
        child.kill().unwrap();
        while procfs::stat(pid).is_some_and(|stat| !stat.is_dead()) {
            wait(&[pid]);
        }
        child.wait().unwrap();
        wait(&[pid]);
    }
}
