//! Appends entries to the file and keeps them for the judges.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use super::{Blob, Entry, Event, Tally, naming};

/// A history could not be begun.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the history at {path}: {source}; choose another place with `--reports`")]
pub struct HistoryError {
    path: PathBuf,
    source: io::Error,
}

/// The history of one rehearsal.
pub struct History {
    began: Instant,
    path: PathBuf,
    blobs: PathBuf,
    secrets: Vec<String>,
    inner: Mutex<Inner>,
    last: watch::Sender<u64>,
}

struct Inner {
    file: File,
    entries: Vec<Entry>,
    tally: Tally,
    written: BTreeSet<String>,
    trouble: Option<io::Error>,
}

impl History {
    /// Begins `history.jsonl` in this directory, which is made.
    ///
    /// # Errors
    /// When the directory or the file cannot be made.
    pub fn begin(directory: &Path, secrets: Vec<String>) -> Result<Self, HistoryError> {
        let path = directory.join("history.jsonl");
        let blobs = directory.join("blobs");
        let file = fs::create_dir_all(directory)
            .and_then(|()| File::create(&path))
            .map_err(|source| HistoryError {
                path: path.clone(),
                source,
            })?;
        Ok(Self {
            began: Instant::now(),
            path,
            blobs,
            secrets: as_written(secrets),
            inner: Mutex::new(Inner {
                file,
                entries: Vec::new(),
                tally: Tally::default(),
                written: BTreeSet::new(),
                trouble: None,
            }),
            last: watch::Sender::new(0),
        })
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event and returns its place in the order.
    pub fn append(&self, event: Event) -> u64 {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = inner.entries.len() as u64 + 1;
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let entry = Entry { seq, at_us, event };
        let mut line = serde_json::to_string(&entry).expect("an event always serialises");
        for secret in &self.secrets {
            if line.contains(secret.as_str()) {
                line = line.replace(secret.as_str(), "***");
            }
        }
        line.push('\n');
        if let Err(error) = inner.file.write_all(line.as_bytes()) {
            inner.trouble.get_or_insert(error);
        }
        let Inner { tally, entries, .. } = &mut *inner;
        match naming::heed(entries, &entry) {
            naming::Heeded::Nothing => {}
            naming::Heeded::Named(seq) => {
                let index = usize::try_from(seq - 1).expect("it stands in memory");
                tally.feed(&entries[index]);
            }
            naming::Heeded::Renamed => *tally = Tally::of(entries),
        }
        tally.feed(&entry);
        entries.push(entry);
        drop(inner);
        self.last.send_replace(seq);
        seq
    }

    /// Describes content for an entry; what is not inline is kept in a file by its hash.
    pub fn blob(&self, content: &[u8]) -> Blob {
        let blob = Blob::of(content);
        if !blob.is_inline() {
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            if inner.written.insert(blob.sha256.clone()) {
                let masked = self.masked(content);
                let written = fs::create_dir_all(&self.blobs)
                    .and_then(|()| fs::write(self.blobs.join(&blob.sha256), masked));
                if let Err(error) = written {
                    inner.trouble.get_or_insert(error);
                }
            }
        }
        blob
    }

    /// Text from elsewhere, with its secrets masked.
    pub fn without_secrets(&self, text: &str) -> String {
        let all = self.secrets.iter();
        all.fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), "***")
        })
    }

    fn masked(&self, content: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(content) {
            Ok(text)
                if self
                    .secrets
                    .iter()
                    .any(|secret| text.contains(secret.as_str())) =>
            {
                let mut text = text.to_owned();
                for secret in &self.secrets {
                    text = text.replace(secret.as_str(), "***");
                }
                text.into_bytes()
            }
            _ => content.to_vec(),
        }
    }

    /// The last place in the order so far, and its changes.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// Wakes everybody who watches, although nothing was appended: something that is
    /// derived from the history has caught up with it.
    pub fn nudge(&self) {
        self.last.send_modify(|_| {});
    }

    /// The last place in the order so far.
    pub fn last(&self) -> u64 {
        *self.last.borrow()
    }

    /// All entries so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entries
            .clone()
    }

    /// Looks at all entries so far without copying them. Appending inside is a deadlock.
    pub fn read<T>(&self, look: impl FnOnce(&[Entry]) -> T) -> T {
        look(
            &self
                .inner
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entries,
        )
    }

    /// Looks at what was counted so far. Appending inside is a deadlock.
    pub fn tally<T>(&self, look: impl FnOnce(&Tally) -> T) -> T {
        look(
            &self
                .inner
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .tally,
        )
    }

    /// Whether something could not be written: the history is then no evidence.
    pub fn trouble(&self) -> Option<String> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner
            .trouble
            .as_ref()
            .map(|error| format!("{}: {error}", self.path.display()))
            .or_else(|| self.disk_is_full())
    }

    /// Whoever writes there fails, also the processes under test. A line may still find
    /// room where their output finds none, so this asks for more.
    fn disk_is_full(&self) -> Option<String> {
        let probe = self.path.with_extension("probe");
        let written = fs::write(&probe, vec![0; 64 * 1024]);
        let _ = fs::remove_file(&probe);
        let error = written.err()?;
        Some(format!(
            "{}, where processes write their output too: {error}",
            self.path.display()
        ))
    }
}

/// Secrets as they may stand in a file: as they are, and as JSON writes them. Longer
/// ones first, so that nothing is left of one that contains another.
fn as_written(secrets: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = secrets
        .into_iter()
        .filter(|secret| !secret.is_empty())
        .flat_map(|secret| {
            let json = serde_json::Value::from(secret.as_str()).to_string();
            let escaped = json[1..json.len() - 1].to_owned();
            // A body within an entry is JSON in JSON.
            let nested = serde_json::Value::from(escaped.as_str()).to_string();
            let nested = nested[1..nested.len() - 1].to_owned();
            [secret, escaped, nested]
        })
        .collect();
    all.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_numbered_written_and_masked() {
        let directory = tempfile::tempdir().unwrap();
        let history = History::begin(directory.path(), vec!["s3cret".to_owned()]).unwrap();
        assert_eq!(history.append(Event::Quiet), 1);
        assert_eq!(
            history.append(Event::Step {
                text: "with s3cret".to_owned()
            }),
            2
        );
        let text = fs::read_to_string(history.path()).unwrap();
        let lines: Vec<Entry> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1].seq, 2);
        assert!(!text.contains("s3cret"));
        assert_eq!(history.last(), 2);
    }

    #[test]
    fn a_secret_is_masked_however_it_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let secret = "pa\"ss\\word";
        let secrets = vec!["pa".to_owned(), secret.to_owned(), String::new()];
        let history = History::begin(directory.path(), secrets).unwrap();
        let body = serde_json::json!({ "url": format!("postgres://u:{secret}@h/d") }).to_string();
        let long = body.clone() + &"x".repeat(1_000);
        history.append(Event::Operator {
            command: format!("connect {secret}"),
            code: Some(0),
            output: history.blob(body.as_bytes()),
        });
        let kept = history.blob(long.as_bytes());
        let text = fs::read_to_string(history.path()).unwrap();
        let blob = directory.path().join("blobs").join(kept.sha256);
        for written in [text, fs::read_to_string(blob).unwrap()] {
            assert!(!written.contains("ss\\"), "{written}");
            assert!(written.contains("***"));
        }
    }

    #[test]
    fn long_content_is_kept_once_by_its_hash() {
        let directory = tempfile::tempdir().unwrap();
        let history = History::begin(directory.path(), Vec::new()).unwrap();
        let content = vec![b'x'; 10_000];
        let blob = history.blob(&content);
        assert_eq!(history.blob(&content), blob);
        let kept = fs::read(directory.path().join("blobs").join(&blob.sha256)).unwrap();
        assert_eq!(kept, content);
    }
}
