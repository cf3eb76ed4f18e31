//! A bound on what is kept of a process's output: the oldest and the newest, and between
//! them a line that tells of the cut.
//!
//! The process writes its log itself and must not wait for anybody. So what lies in the
//! middle is given back to the file system from under it (a hole; offsets stay), and the
//! hole is closed once the run is over and nobody writes any more.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::fcntl::{FallocateFlags, fallocate};

use super::output::Logs;

/// Between two looks at a log. Telling of changes would take one of the user's few
/// instances of inotify for each.
const TICK: Duration = Duration::from_millis(500);

/// How much of a log is kept, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// A log that takes no more room than this is left alone.
    pub(super) most: u64,
    pub(super) oldest: u64,
    pub(super) newest: u64,
}

/// For every process of a run.
pub(super) const USUAL: Bound = Bound {
    most: 32 << 20,
    oldest: 4 << 20,
    newest: 12 << 20,
};
/// Holes begin and end where the file system's blocks do.
const BLOCK: u64 = 4096;

/// The logs of a run with something cut out of them. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CutLogs(Arc<Mutex<BTreeSet<PathBuf>>>);

impl CutLogs {
    /// Keeps the logs of a process bounded until it has ended.
    pub(super) fn keep(&self, logs: Logs, ended: impl Future + Send + 'static) {
        let cut_logs = self.clone();
        tokio::spawn(async move {
            tokio::pin!(ended);
            loop {
                let over = tokio::select! {
                    _ = &mut ended => true,
                    () = tokio::time::sleep(TICK) => false,
                };
                for path in logs.paths() {
                    cut_logs.look(path, USUAL);
                }
                if over {
                    return;
                }
            }
        });
    }

    fn look(&self, path: &Path, bound: Bound) {
        // Where the file system cannot do it, or the log is gone, nothing is cut.
        if matches!(cut(path, bound), Ok(true)) {
            let mut cut = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            cut.insert(path.to_owned());
        }
    }

    /// Closes the holes. Nobody writes to the logs any more.
    pub(crate) fn close(&self) {
        let cut = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for path in cut {
            // One that cannot be closed is a log with zeros in it.
            let _ = close(&path, USUAL);
        }
    }
}

/// Where the part in the middle begins and ends.
fn middle(length: u64, bound: Bound) -> (u64, u64) {
    let begin = bound.oldest / BLOCK * BLOCK;
    let end = length.saturating_sub(bound.newest) / BLOCK * BLOCK;
    (begin, end.max(begin))
}

/// Makes a hole in a log that takes too much room. True if it did.
fn cut(path: &Path, bound: Bound) -> io::Result<bool> {
    let file = OpenOptions::new().write(true).open(path)?;
    let seen = file.metadata()?;
    let (begin, end) = middle(seen.len(), bound);
    if seen.blocks() * 512 <= bound.most || begin == end {
        return Ok(false);
    }
    let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    let offset = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    fallocate(&file, flags, offset(begin), offset(end - begin))?;
    let told = told(end - begin);
    file.write_all_at(told.as_bytes(), begin)?;
    Ok(true)
}

fn told(bytes: u64) -> String {
    format!("\n[about {bytes} bytes of output were cut out here]\n")
}

/// Puts the oldest and the newest of a log with a hole together.
fn close(path: &Path, bound: Bound) -> io::Result<()> {
    let mut log = File::open(path)?;
    let (begin, end) = middle(log.metadata()?.len(), bound);
    if begin == end {
        return Ok(());
    }
    let whole = path.with_extension("closing");
    let mut file = File::create(&whole)?;
    io::copy(&mut (&mut log).take(begin), &mut file)?;
    file.write_all(told(end - begin).as_bytes())?;
    log.seek(SeekFrom::Start(end))?;
    io::copy(&mut log, &mut file)?;
    fs::rename(whole, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bound = Bound {
        most: 64 * BLOCK,
        oldest: 8 * BLOCK,
        newest: 8 * BLOCK,
    };

    fn lines(from: u32, to: u32) -> String {
        (from..to).fold(String::new(), |text, number| {
            format!("{text}line {number:07}\n")
        })
    }

    #[test]
    fn a_log_keeps_its_oldest_and_newest_and_tells_of_the_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap();
        log.write_all(lines(0, 1_000).as_bytes()).unwrap();
        assert!(!cut(&path, SMALL).unwrap(), "there is room");
        for round in 1..4 {
            log.write_all(lines(round * 100_000, (round + 1) * 100_000).as_bytes())
                .unwrap();
            if !cut(&path, SMALL).unwrap() {
                // The file system of this machine knows no holes.
                return;
            }
            assert!(fs::metadata(&path).unwrap().blocks() * 512 <= SMALL.most);
        }
        log.write_all(b"the last line\n").unwrap();
        close(&path, SMALL).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= SMALL.most);
        assert!(text.starts_with("line 0000000\n"));
        assert!(text.ends_with("line 0399999\nthe last line\n"));
        assert_eq!(
            text.matches("bytes of output were cut out here]").count(),
            1
        );
        assert!(!text.contains('\0'));
    }

    #[tokio::test]
    async fn what_a_process_writes_is_looked_at_until_it_ended() {
        let directory = tempfile::tempdir().unwrap();
        let logs = Logs::together(directory.path().join("log"));
        let (mut file, _) = logs.open().unwrap();
        let cut_logs = CutLogs::default();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let line = vec![b'x'; 1 << 20];
        for _ in 0..40 {
            file.write_all(&line).unwrap();
        }
        cut_logs.keep(logs.clone(), ended);
        end.send(()).unwrap();
        while Arc::strong_count(&cut_logs.0) > 1 {
            tokio::task::yield_now().await;
        }
        cut_logs.close();
        let kept = fs::metadata(&logs.stdout).unwrap().len();
        assert!(
            kept <= USUAL.most || kept == 40 << 20,
            "{kept} bytes are kept"
        );
    }
}
