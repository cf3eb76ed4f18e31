//! How long a process is waited for that is not ready yet: its own limit, and longer while it
//! gets on: it computes, waits for a processor, or writes output. On a machine with too much to
//! do that takes long, and says nothing against the process.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::super::child::Child;
use super::super::procfs;

/// However busy it is, nobody is waited for longer than so many times its limit.
const AT_MOST: u32 = 4;

/// How long a process may take to become ready, if it is busy all the time.
pub fn at_most(within: Duration) -> Duration {
    within.saturating_mul(AT_MOST)
}

/// Who runs, or waits for a processor, for less than this share of the time does not compute:
/// it looks again and again whether something else is there.
const SHARE: f64 = 0.1;

/// Resolves when `within` is over and the process did nothing in the last quarter of it, or in
/// a later one; at the latest after `at_most`. Gives how long that was.
pub(super) async fn too_late(child: &Child, within: Duration, at_most: Duration) -> Duration {
    let quarter = within / 4;
    let start = Instant::now();
    let mut before = Done::by(child);
    loop {
        let began = Instant::now();
        tokio::time::sleep(quarter).await;
        let now = Done::by(child);
        let busy = now.is_busier_than(&before, began.elapsed());
        before = now;
        let waited = start.elapsed();
        if waited >= within && (!busy || waited + quarter > at_most) {
            // What a timer adds is no time that anything was waited for.
            return if busy || waited > within + quarter / 2 {
                waited
            } else {
                within
            };
        }
    }
}

/// What a process and all below it did up to now.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// Time on a processor, and time waiting for one.
    computing: Duration,
    written: u64,
}

impl Done {
    fn by(child: &Child) -> Self {
        let tree = procfs::tree(child.pid());
        let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        Self {
            computing: tree.into_iter().map(computing).sum(),
            written: child.logs().paths().map(size).sum(),
        }
    }

    fn is_busier_than(&self, before: &Self, during: Duration) -> bool {
        let computed = self.computing.saturating_sub(before.computing);
        self.written != before.written || computed.as_secs_f64() > during.as_secs_f64() * SHARE
    }
}

/// Of all its threads; nothing where the kernel does not say.
fn computing(pid: Pid) -> Duration {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Duration::ZERO;
    };
    let of = |thread: fs::DirEntry| {
        let written = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut figures = written.split_ascii_whitespace();
        let mut next = || figures.next()?.parse::<u64>().ok();
        Some(Duration::from_nanos(next()? + next()?))
    };
    threads.flatten().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(milliseconds: u64, written: u64) -> Done {
        Done {
            computing: Duration::from_millis(milliseconds),
            written,
        }
    }

    #[test]
    fn who_computes_or_writes_is_busy_and_who_looks_again_and_again_is_not() {
        let second = Duration::from_secs(1);
        assert!(done(300, 0).is_busier_than(&done(100, 0), second));
        assert!(done(0, 10).is_busier_than(&done(0, 9), second));
        assert!(!done(150, 9).is_busier_than(&done(100, 9), second));
        // Fewer threads than before.
        assert!(!done(50, 9).is_busier_than(&done(100, 9), second));
    }

    #[test]
    fn this_very_process_computes() {
        let own = Pid::this();
        let before = computing(own);
        let start = Instant::now();
        while computing(own) < before + Duration::from_millis(20) {
            assert!(start.elapsed() < Duration::from_mins(1), "no time is told");
        }
    }
}
