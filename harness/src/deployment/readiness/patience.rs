//! How long a process is waited for that is not ready yet: its own limit, and longer while it
//! gets on, as a process does that starts on a busy machine.

use std::fs;
use std::time::{Duration, Instant};

use crate::deployment::child::Child;
use crate::deployment::procfs;

/// Nobody stands still who used processor time, or wrote something, within this time.
const BREATH: Duration = Duration::from_secs(2);
/// However busy it is, nobody is waited for longer than so many times its limit.
const AT_MOST: u32 = 4;

/// What a process and its descendants have done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Done {
    /// Processor time in clock ticks.
    ticks: u64,
    /// Bytes of output.
    wrote: u64,
}

impl Done {
    fn of(child: &Child) -> Self {
        let size = |path| fs::metadata(path).map_or(0, |file| file.len());
        Self {
            ticks: procfs::tree(child.pid())
                .into_iter()
                .filter_map(procfs::ticks)
                .sum(),
            wrote: child.logs().paths().map(size).sum(),
        }
    }
}

/// Resolves once a process is too late: it had its time, and stands still. Gives back how
/// long it was waited for.
pub(super) async fn too_late(child: &Child, within: Duration) -> Duration {
    let begun = Instant::now();
    tokio::time::sleep(within).await;
    let mut before = Done::of(child);
    loop {
        let left = (within * AT_MOST).saturating_sub(begun.elapsed());
        if left.is_zero() {
            return begun.elapsed();
        }
        tokio::time::sleep(BREATH.min(within).min(left)).await;
        let now = Done::of(child);
        // A descendant that ended takes its time along: less is no standing still.
        if now == before {
            return begun.elapsed();
        }
        before = now;
    }
}
