//! The journal on disk: every call that changed something, in order, written
//! before the call is answered. A replay of it gives the same state.
//!
//! The first line is a snapshot, the others are calls. When the calls outgrow the
//! snapshot, a new file takes the old one's place. Nothing is synced: what the page
//! cache holds survives the death of the process, which is what rehearsals do; it
//! does not survive the death of the machine.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::moment::Moment;
use super::receipt::Receipt;
use super::state::{Asked, Outgoing, State, Terms};

const FILE: &str = "queue-journal.jsonl";
const LOCK: &str = "queue-journal.lock";
const VERSION: u32 = 1;
/// Below this size a journal is not worth compacting.
const SMALL: u64 = 16 << 20;

/// A call that changed something.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Record {
    Create {
        queue: String,
        attributes: BTreeMap<String, String>,
        tags: BTreeMap<String, String>,
    },
    DeleteQueue {
        queue: String,
    },
    SetAttributes {
        queue: String,
        attributes: BTreeMap<String, String>,
    },
    Tag {
        queue: String,
        tags: BTreeMap<String, String>,
    },
    Untag {
        queue: String,
        keys: Vec<String>,
    },
    Purge {
        queue: String,
    },
    Send {
        queue: String,
        messages: Vec<Outgoing>,
    },
    Receive {
        queue: String,
        max: usize,
        visibility: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<String>,
    },
    Delete {
        queue: String,
        receipts: Vec<Receipt>,
    },
    ChangeVisibility {
        queue: String,
        receipts: Vec<(Receipt, u32)>,
    },
    Expire {
        receipts: Vec<Receipt>,
    },
    Duplicate {
        queue: String,
        message: Uuid,
        after_delete: bool,
    },
    MakeDue {
        message: Uuid,
    },
    ForgetSent {
        message: Uuid,
    },
    StartTransfer {
        id: Uuid,
        source: String,
        destination: Option<String>,
        rate: Option<u32>,
    },
    CancelTransfer {
        id: Uuid,
    },
}

impl Record {
    /// Does the call again. Errors are those it had the first time.
    fn replay(self, state: &mut State, now: Moment) {
        match self {
            Self::Create {
                queue,
                attributes,
                tags,
            } => {
                let _ = state.create(&queue, &attributes, &tags, now);
            }
            Self::DeleteQueue { queue } => {
                let _ = state.delete_queue(&queue, now);
            }
            Self::SetAttributes { queue, attributes } => {
                let _ = state.set_attributes(&queue, &attributes, now);
            }
            Self::Tag { queue, tags } => {
                let _ = state.tag(&queue, &tags);
            }
            Self::Untag { queue, keys } => {
                let _ = state.untag(&queue, &keys);
            }
            Self::Purge { queue } => {
                let _ = state.purge(&queue, now);
            }
            Self::Send { queue, messages } => {
                let _ = state.send(&queue, &messages, now);
            }
            Self::Receive {
                queue,
                max,
                visibility,
                attempt,
            } => {
                let asked = Asked {
                    max,
                    visibility,
                    patient: true,
                    attempt: attempt.as_deref(),
                };
                let _ = state.receive(&queue, asked, now);
            }
            Self::Delete { queue, receipts } => {
                for receipt in receipts {
                    let _ = state.delete(&queue, receipt, now);
                }
            }
            Self::ChangeVisibility { queue, receipts } => {
                for (receipt, seconds) in receipts {
                    let _ = state.change_visibility(&queue, receipt, seconds, now);
                }
            }
            Self::Expire { receipts } => {
                for receipt in receipts {
                    state.expire(receipt, now);
                }
            }
            Self::Duplicate {
                queue,
                message,
                after_delete,
            } => {
                let _ = state.duplicate(&queue, message, after_delete, now);
            }
            Self::MakeDue { message } => {
                state.make_due(message, now);
            }
            Self::ForgetSent { message } => {
                state.forget_sent(message);
            }
            Self::StartTransfer {
                id,
                source,
                destination,
                rate,
            } => {
                let _ = state.start_transfer(id, &source, destination.as_deref(), rate, now);
            }
            Self::CancelTransfer { id } => {
                let _ = state.cancel_transfer(id, now);
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Snapshot<S> {
    version: u32,
    at: Moment,
    state: S,
}

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
    file: File,
    /// Held for as long as the journal is open.
    _lock: File,
    line: Vec<u8>,
    /// Bytes of calls since the snapshot.
    grown: u64,
    /// Bytes of the snapshot.
    base: u64,
    /// A write failed: what is in memory is no longer what is on disk.
    broken: bool,
}

/// Why a journal could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error("another queue server is using it")]
    InUse,
    #[error("line {line} of {FILE} cannot be read: {reason}")]
    Damaged { line: usize, reason: String },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Journal {
    /// Opens the journal in a directory and returns the state it holds, under
    /// the given terms, with the last moment it knows of.
    pub(crate) fn open(
        directory: &Path,
        terms: Terms,
    ) -> Result<(Self, State, Moment), JournalError> {
        fs::create_dir_all(directory)?;
        let lock = File::create(directory.join(LOCK))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => JournalError::InUse,
            fs::TryLockError::Error(error) => error.into(),
        })?;
        let path = directory.join(FILE);
        let (mut state, last) = if path.exists() {
            read(&path)?
        } else {
            (State::new(terms.clone()), Moment::default())
        };
        state.agree(terms);
        let (file, base) = write_snapshot(directory, &state, last)?;
        let journal = Self {
            directory: directory.to_owned(),
            file,
            _lock: lock,
            line: Vec::new(),
            grown: 0,
            base,
            broken: false,
        };
        Ok((journal, state, last))
    }

    /// Appends a call that `state` already reflects.
    pub(crate) fn append(&mut self, record: &Record, state: &State, now: Moment) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to the journal failed"));
        }
        let result = self.try_append(record, state, now);
        self.broken = result.is_err();
        result
    }

    fn try_append(&mut self, record: &Record, state: &State, now: Moment) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, &(now, record))?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)?;
        self.grown += self.line.len() as u64;
        if self.grown > SMALL.max(4 * self.base) {
            (self.file, self.base) = write_snapshot(&self.directory, state, now)?;
            self.grown = 0;
        }
        Ok(())
    }
}

fn write_snapshot(directory: &Path, state: &State, at: Moment) -> io::Result<(File, u64)> {
    let path = directory.join(FILE);
    let new = path.with_extension("new");
    let mut line = serde_json::to_vec(&Snapshot {
        version: VERSION,
        at,
        state,
    })?;
    line.push(b'\n');
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .open(&new)?;
    file.write_all(&line)?;
    fs::rename(new, path)?;
    Ok((file, line.len() as u64))
}

fn read(path: &Path) -> Result<(State, Moment), JournalError> {
    let damaged = |line: usize, reason: String| JournalError::Damaged { line, reason };
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    let Snapshot {
        version,
        at: mut last,
        mut state,
    } = serde_json::from_slice::<Snapshot<State>>(&line)
        .map_err(|error| damaged(1, error.to_string()))?;
    if version != VERSION {
        return Err(damaged(
            1,
            format!("it has version {version}, this server reads version {VERSION}"),
        ));
    }
    state.restore();
    for number in 2.. {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        // A line without its end is a call that was never answered.
        if line.pop() != Some(b'\n') {
            break;
        }
        let (now, record): (Moment, Record) =
            serde_json::from_slice(&line).map_err(|error| damaged(number, error.to_string()))?;
        record.replay(&mut state, now);
        last = now;
    }
    Ok((state, last))
}
