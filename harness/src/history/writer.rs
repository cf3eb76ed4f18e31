//! Appends entries to the file, and keeps of them what is needed while things go on.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::blob::hex;
use super::kinds::Kinds;
use super::masking::Masking;
use super::shelf::Shelf;
use super::thin::thin;
use super::{Blob, Content, Entry, Event, Tally, Text, Words, naming};

/// So many entries may come before memory looks for those that are over.
const LOOK: usize = 100_000;

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
    masking: Masking,
    shelf: Shelf,
    inner: Mutex<Inner>,
    last: watch::Sender<u64>,
}

struct Inner {
    file: File,
    count: u64,
    /// Of all lines so far.
    digest: Sha256,
    entries: Vec<Entry>,
    /// At how many entries memory looks for those that are over.
    look: usize,
    kinds: Kinds,
    tally: Tally,
    /// The names of the contents that are on the shelf.
    shelved: HashSet<String>,
    trouble: Option<io::Error>,
}

/// What a call says.
#[derive(Debug, Default)]
pub struct Said {
    /// Its statements, one a line: they stand with its kind where they can.
    pub statements: Option<String>,
    /// Its body; or what is bound to each of its statements, one a line.
    pub content: Vec<u8>,
}

impl Said {
    /// All of it, where its statements stand nowhere else.
    fn whole(self) -> Vec<u8> {
        let Some(statements) = self.statements else {
            return self.content;
        };
        let bound = String::from_utf8_lossy(&self.content);
        let mut bound = bound.lines();
        let lines: Vec<String> = statements
            .lines()
            .map(|line| format!("{line} {}", bound.next().unwrap_or_default()))
            .collect();
        lines.join("\n").into_bytes()
    }
}

impl History {
    /// Begins `history.jsonl` in this directory, which is made.
    ///
    /// # Errors
    /// When the directory or the file cannot be made.
    pub fn begin(directory: &Path, secrets: Vec<String>) -> Result<Self, HistoryError> {
        let path = directory.join("history.jsonl");
        let begun = fs::create_dir_all(directory)
            .and_then(|()| Ok((File::create(&path)?, Shelf::new(&directory.join("blobs"))?)));
        let (file, shelf) = begun.map_err(|source| HistoryError {
            path: path.clone(),
            source,
        })?;
        Ok(Self {
            began: Instant::now(),
            path,
            masking: Masking::of(secrets),
            shelf,
            inner: Mutex::new(Inner {
                file,
                count: 0,
                digest: Sha256::new(),
                entries: Vec::new(),
                look: LOOK,
                kinds: Kinds::default(),
                tally: Tally::default(),
                shelved: HashSet::new(),
                trouble: None,
            }),
            last: watch::Sender::new(0),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one event and returns its place in the order.
    pub fn append(&self, event: Event) -> u64 {
        let mut inner = self.inner();
        let seq = self.write(&mut inner, event, Hidden::default());
        drop(inner);
        self.last.send_replace(seq);
        seq
    }

    /// Appends the last line, with a digest of all before: entries that are taken out later are
    /// missed.
    pub fn end(&self) {
        let mut inner = self.inner();
        let digest = Some(hex(&inner.digest.clone().finalize()));
        let seq = self.write(&mut inner, Event::Ended { digest }, Hidden::default());
        drop(inner);
        self.last.send_replace(seq);
    }

    /// Appends a call with what it says and returns its place in the order.
    pub fn append_call(&self, mut call: Event, said: Said) -> u64 {
        let mut inner = self.inner();
        let common = inner.kinds.share(&mut call, said.statements.as_deref());
        let (mut hidden, mut statements) = (Hidden::default(), false);
        if let Some(common) = common {
            if let Some(kind) = common.new {
                self.write(&mut inner, kind, Hidden::default());
            }
            statements = common.statements;
            hidden = Hidden {
                kind: true,
                summary: common.summary,
            };
        }
        let content = if statements {
            said.content
        } else {
            said.whole()
        };
        if let Event::Called { content: own, .. } = &mut call {
            *own = self.shelve(&mut inner, Blob::of_call(&content), &content);
        }
        let seq = self.write(&mut inner, call, hidden);
        drop(inner);
        self.last.send_replace(seq);
        seq
    }

    /// Writes an entry and keeps it.
    fn write(&self, inner: &mut Inner, event: Event, hidden: Hidden) -> u64 {
        inner.count += 1;
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut entry = Entry {
            seq: inner.count,
            at_us,
            event,
        };
        let taken = hidden.take(&mut entry.event);
        let line = serde_json::to_string(&entry).expect("an event always serialises");
        let mut line = self.masking.line(line);
        line.push('\n');
        inner.digest.update(line.as_bytes());
        if let Err(error) = inner.file.write_all(line.as_bytes()) {
            inner.trouble.get_or_insert(error);
        }
        taken.give_back(&mut entry.event);
        entry.event.forget_content();
        let Inner { tally, entries, .. } = inner;
        match naming::heed(entries, &entry) {
            naming::Heeded::Nothing => {}
            naming::Heeded::Named(seq) => tally.feed(&entries[naming::place(entries, seq)]),
            naming::Heeded::Renamed => tally.rename(entries),
        }
        tally.feed(&entry);
        // What all calls of a kind have in common is told by each of them.
        if !matches!(entry.event, Event::Kind { .. }) {
            entries.push(entry);
        }
        if inner.entries.len() >= inner.look {
            thin(&mut inner.entries);
            let kept = inner.entries.len();
            inner.look = kept + LOOK.max(kept / 4);
        }
        inner.count
    }

    /// Describes content for an entry; what is not inline is kept in a file by its hash.
    pub fn blob(&self, content: &[u8]) -> Blob {
        let blob = Blob::of(content);
        if !blob.is_inline() {
            self.shelve(&mut self.inner(), Some(Box::new(blob.clone())), content);
        }
        blob
    }

    /// Like [`History::blob`], for what is said in a call or a reply.
    pub fn content(&self, content: &[u8]) -> Content {
        let blob = Blob::of_call(content)?;
        if blob.is_inline() {
            return Some(blob);
        }
        self.shelve(&mut self.inner(), Some(blob), content)
    }

    /// Text from elsewhere, with its secrets masked.
    pub fn without_secrets(&self, text: &str) -> String {
        self.masking.line(text.to_owned())
    }

    fn shelve(&self, inner: &mut Inner, blob: Content, content: &[u8]) -> Content {
        let long = blob.as_ref().filter(|blob| !blob.is_inline());
        if let Some(long) = long
            && inner.shelved.insert(long.sha256.clone())
        {
            self.shelf
                .put(long.sha256.clone(), self.masking.content(content));
        }
        blob
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

    /// All entries so far that are not over.
    pub fn entries(&self) -> Vec<Entry> {
        self.inner().entries.clone()
    }

    /// Looks at the entries so far without copying them. Of a long history, ordinary calls
    /// that are over are left out; contents of calls are always. Appending inside is a
    /// deadlock.
    pub fn read<T>(&self, look: impl FnOnce(&[Entry]) -> T) -> T {
        look(&self.inner().entries)
    }

    /// Looks at what was counted so far. Appending inside is a deadlock.
    pub fn tally<T>(&self, look: impl FnOnce(&Tally) -> T) -> T {
        look(&self.inner().tally)
    }

    /// Whether something could not be written: the history is then no evidence.
    pub fn trouble(&self) -> Option<String> {
        let of_shelf = self.shelf.trouble();
        let of_file = self.inner().trouble.as_ref().map(ToString::to_string);
        of_file
            .or(of_shelf)
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

/// What of a call stands with its kind, and is not written again.
#[derive(Clone, Copy, Default)]
struct Hidden {
    kind: bool,
    summary: bool,
}

/// What was taken from a call while it is written.
#[derive(Default)]
struct Taken {
    kind: Option<(super::Shared<crate::shape::Shape>, Words)>,
    summary: Option<Text>,
}

impl Hidden {
    fn take(self, event: &mut Event) -> Taken {
        let mut taken = Taken::default();
        if let Event::Called {
            shape,
            actions,
            summary,
            ..
        } = event
            && self.kind
        {
            let words = std::mem::take(actions);
            taken.kind = shape.take().map(|shape| (shape, words));
            taken.summary = self.summary.then(|| std::mem::take(summary));
        }
        taken
    }
}

impl Taken {
    fn give_back(self, event: &mut Event) {
        if let Event::Called {
            shape,
            actions,
            summary,
            ..
        } = event
            && let Some((own, words)) = self.kind
        {
            (*shape, *actions) = (Some(own), words);
            if let Some(own) = self.summary {
                *summary = own;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::history::{Attribution, SCHEMA};
    use crate::ids::{Author, CallId, ConnectionId};
    use crate::shape::{Asked, Shape};

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
        assert_eq!(history.trouble(), None);
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
        assert_eq!(history.trouble(), None);
        let kept = fs::read(directory.path().join("blobs").join(&blob.sha256)).unwrap();
        assert_eq!(kept, content);
    }

    fn call(number: u64, statement: &str, values: &str) -> (Event, Said) {
        let shape = Shape {
            dependency: "database".into(),
            asked: Asked::Statements(statement.to_lowercase()),
        };
        let call = Event::Called {
            call: CallId(number),
            connection: ConnectionId(1),
            author: Author::Client,
            dependency: "database".into(),
            kind: None,
            summary: statement.into(),
            actions: vec![statement.to_owned()].into(),
            shape: Some(shape.into()),
            messages: Vec::new(),
            attribution: Attribution::None,
            receipts: Vec::new(),
            content: None,
        };
        let said = Said {
            statements: Some(statement.to_owned()),
            content: values.as_bytes().to_vec(),
        };
        (call, said)
    }

    #[test]
    fn what_calls_have_in_common_is_written_once_and_read_back_with_each() {
        let directory = tempfile::tempdir().unwrap();
        let history = History::begin(directory.path(), Vec::new()).unwrap();
        history.append(Event::Began {
            schema: SCHEMA,
            system: String::new(),
            run: String::new(),
            scenario: String::new(),
            place: String::new(),
            seed: 1,
            versions: BTreeMap::new(),
        });
        for (number, statement) in [(1, "select $1"), (2, "select $1"), (3, "SELECT $1")] {
            let (call, said) = call(number, statement, "[1]");
            history.append_call(call, said);
        }
        let text = fs::read_to_string(history.path()).unwrap();
        assert_eq!(text.matches("\"shape\"").count(), 2, "{text}");
        let read = crate::history::read(history.path()).unwrap();
        let told = |entries: &[Entry]| -> Vec<(String, Vec<String>, Option<Shape>)> {
            let calls = entries.iter().filter_map(|entry| match &entry.event {
                Event::Called {
                    summary,
                    actions,
                    shape,
                    ..
                } => Some((
                    summary.to_string(),
                    actions.to_vec(),
                    shape.as_deref().cloned(),
                )),
                _ => None,
            });
            calls.collect()
        };
        assert_eq!(told(&read), told(&history.entries()));
        assert_eq!(told(&read)[2].0, "SELECT $1");
        let orphan = text.replace("\"event\":\"kind\"", "\"event\":\"quiet\"");
        fs::write(history.path(), orphan).unwrap();
        let refused = crate::history::read(history.path()).unwrap_err();
        assert!(
            refused.to_string().contains("of a kind that no entry"),
            "{refused}"
        );
    }
}
