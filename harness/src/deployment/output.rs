//! A process's output: appended to files by the process itself, so that nothing is
//! lost when the harness dies, and read from there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much of a log's end is searched for its last lines.
const TAIL: u64 = 16 * 1024;
/// Between two looks at a log that is waited on. Telling of changes (inotify) would
/// take one of the user's few instances per wait.
const TICK: Duration = Duration::from_millis(5);

/// Where one incarnation's output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logs {
    /// Standard output.
    pub stdout: PathBuf,
    /// Standard error; may be the same file.
    pub stderr: PathBuf,
}

impl Logs {
    /// Both into one file.
    pub fn together(path: impl Into<PathBuf>) -> Self {
        let stdout = path.into();
        Self {
            stderr: stdout.clone(),
            stdout,
        }
    }

    /// The files, each once.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let other = (self.stderr != self.stdout).then_some(self.stderr.as_path());
        std::iter::once(self.stdout.as_path()).chain(other)
    }

    pub(crate) fn open(&self) -> Result<(File, File), (PathBuf, io::Error)> {
        let open = |path: &Path| {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            OpenOptions::new().create(true).append(true).open(path)
        };
        let open = |path: &Path| open(path).map_err(|error| (path.to_owned(), error));
        Ok((open(&self.stdout)?, open(&self.stderr)?))
    }

    /// The last `count` lines of either file, standard output's first.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        self.paths()
            .flat_map(|path| last_lines(path, count).unwrap_or_default())
            .collect()
    }

    /// Resolves with the first whole line, in either file, that contains `text`.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub async fn line_containing(&self, text: &str) -> io::Result<String> {
        if self.stdout == self.stderr {
            return line_containing(&self.stdout, text).await;
        }
        tokio::select! {
            line = line_containing(&self.stdout, text) => line,
            line = line_containing(&self.stderr, text) => line,
        }
    }
}

fn last_lines(path: &Path, count: usize) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(count)..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect())
}

async fn line_containing(path: &Path, text: &str) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut unfinished = Vec::new();
    loop {
        file.read_to_end(&mut unfinished)?;
        while let Some(end) = unfinished.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unfinished.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]);
            if line.contains(text) {
                return Ok(line.trim_end_matches('\r').to_owned());
            }
        }
        tokio::time::sleep(TICK).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn a_line_counts_once_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let logs = Logs::together(directory.path().join("log"));
        let (mut file, _) = logs.open().unwrap();
        file.write_all(b"nothing\nserver is rea").unwrap();
        let waiting = tokio::spawn({
            let logs = logs.clone();
            async move { logs.line_containing("is ready").await.unwrap() }
        });
        tokio::task::yield_now().await;
        file.write_all(b"dy now").unwrap();
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        file.write_all(b"\n").unwrap();
        assert_eq!(waiting.await.unwrap(), "server is ready now");
    }

    #[test]
    fn the_last_lines_are_the_last() {
        let directory = tempfile::tempdir().unwrap();
        let logs = Logs::together(directory.path().join("log"));
        let (mut file, _) = logs.open().unwrap();
        file.write_all("a line that is long enough\n".repeat(2000).as_bytes())
            .unwrap();
        file.write_all(b"one\ntwo").unwrap();
        assert_eq!(logs.last_lines(2), ["one", "two"]);
    }
}
