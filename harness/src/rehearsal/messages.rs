//! The messages of a scenario: what they carry, and how they are told apart.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::board::Late;
use super::plan::PlannedMessage;
use super::{Rehearsal, RehearsalError};
use crate::history::Event;
use crate::ids::MessageName;
use crate::stub::{self, Content};

/// What the messages of a rehearsal carry, for the services that the harness plays.
#[derive(Default)]
pub(super) struct Contents(Mutex<Known>);

struct Carried {
    kind: String,
    content: Content,
}

#[derive(Default)]
struct Known {
    /// By the name that the system sees.
    by_name: BTreeMap<String, Carried>,
    jobs: BTreeMap<String, MessageName>,
}

impl Contents {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn declare(&self, message: &MessageName, kind: &str, content: Content) {
        let carried = Carried {
            kind: kind.to_owned(),
            content,
        };
        self.known()
            .by_name
            .insert(message.as_str().to_owned(), carried);
    }

    pub(super) fn kind(&self, message: &MessageName) -> Option<String> {
        self.known()
            .by_name
            .get(message.as_str())
            .map(|carried| carried.kind.clone())
    }

    pub(super) fn accepted(&self, message: &MessageName, job: &str) {
        self.known().jobs.insert(job.to_owned(), message.clone());
    }

    pub(super) fn get(&self, message: &MessageName) -> Option<Content> {
        self.known()
            .by_name
            .get(message.as_str())
            .map(|carried| carried.content.clone())
    }
}

/// What a service that the harness plays knows of messages.
pub(super) struct Served {
    contents: Arc<Contents>,
    board: Late,
}

impl Served {
    pub(super) fn new(contents: &Arc<Contents>, board: &Late) -> Self {
        Self {
            contents: Arc::clone(contents),
            board: board.clone(),
        }
    }
}

impl stub::Contents for Served {
    fn of_message(&self, name: &str) -> Option<Content> {
        self.contents.get(&name.into())
    }

    fn of_job(&self, job: &str) -> Option<Content> {
        // Its client may not be told yet what the system works on already.
        let told = self.contents.known().jobs.get(job).cloned();
        let message = told.or_else(|| self.board.get()?.job_can_only_be(job))?;
        self.contents.get(&message)
    }
}

impl Rehearsal {
    /// Makes a message known to the board and to the services that the harness plays.
    #[expect(clippy::result_large_err, reason = "it ends the scenario")]
    pub(super) fn declare(&mut self, message: &PlannedMessage) -> Result<(), RehearsalError> {
        let kind = &self.manifest.messages.kinds[&message.kind];
        let bytes = match &kind.content {
            None => message.name.as_str().as_bytes().to_vec(),
            Some(content) => {
                let path = self.manifest.root.join(content);
                fs::read(&path).map_err(|source| RehearsalError::Content {
                    kind: message.kind.clone(),
                    path,
                    source,
                })?
            }
        };
        let bytes = Bytes::from(bytes);
        let name = &message.name;
        let history = self.board.history();
        history.append(Event::Declared {
            message: name.clone(),
            kind: message.kind.clone(),
            kills: kind.kills.as_ref().map(ToString::to_string),
            content: history.blob(&bytes),
        });
        let content = Content {
            bytes,
            media_type: kind.media_type.clone(),
        };
        self.contents.declare(name, &message.kind, content);
        let key = key_of(name);
        self.board
            .declare(name, kind.kills.clone(), &[name.as_str(), &key]);
        Ok(())
    }

    /// What a message carries.
    pub fn content_of(&self, message: &MessageName) -> Option<Vec<u8>> {
        self.contents
            .get(message)
            .map(|content| content.bytes.to_vec())
    }
}

/// The key under which the client submits a message, the same for every try.
pub(super) fn key_of(message: &MessageName) -> String {
    format!("key-of-{message}")
}
