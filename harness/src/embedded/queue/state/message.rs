//! One message in one queue.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::content::{self, Content};
use super::super::moment::Moment;
use super::fifo::Sent;

/// A message and how it stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: Uuid,
    #[serde(with = "content::shared")]
    pub(crate) content: Arc<Content>,
    pub(crate) sent: Moment,
    pub(crate) first_received: Option<Moment>,
    /// Receives in all, also those before a move to a dead-letter queue.
    pub(crate) receives: u32,
    /// Receives before it came into this queue.
    pub(super) receives_before: u32,
    /// When it was last received.
    pub(super) taken: Moment,
    pub(super) standing: Standing,
    /// The oldest receive whose handle is still good.
    pub(super) oldest_good: u32,
    /// The ARN of the queue from which it came as a dead letter.
    pub(crate) source: Option<String>,
    /// A duplicate was asked for: the next receive leaves it visible.
    pub(super) twice: bool,
    /// It is on show as a duplicate: the next receive keeps older handles good.
    pub(super) doubled: bool,
    /// Its first deletion is lost, as by a replica that was away.
    pub(super) revives: bool,
    /// `MessageDeduplicationId`, given or made of the body. FIFO queues only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deduplication: Option<String>,
    /// `SequenceNumber`. FIFO queues only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sequence: Option<String>,
}

/// Where a message stands; each standing has one index in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Standing {
    /// Not to be received before this moment.
    Delayed(Moment),
    /// To be received, in the order of these numbers.
    Visible(u64),
    /// Received, and hidden until this moment.
    InFlight(Moment),
}

impl Message {
    pub(super) fn new(id: Uuid, content: Arc<Content>, sent: Moment) -> Self {
        Self {
            id,
            content,
            sent,
            first_received: None,
            receives: 0,
            receives_before: 0,
            taken: sent,
            standing: Standing::Visible(0),
            oldest_good: 0,
            source: None,
            twice: false,
            doubled: false,
            revives: false,
            deduplication: None,
            sequence: None,
        }
    }

    /// As its sender learns of it.
    pub(super) fn as_sent(&self) -> Sent {
        Sent {
            id: self.id,
            sequence: self.sequence.clone(),
        }
    }

    /// Its message group. Every message of a FIFO queue has one.
    pub(super) fn group(&self) -> &str {
        self.content.group.as_deref().unwrap_or_default()
    }

    pub(super) fn receives_here(&self) -> u32 {
        self.receives - self.receives_before
    }
}
