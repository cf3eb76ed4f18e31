//! Message move tasks: out of a dead-letter queue, back to where each message
//! came from or to one explicit queue, at once or at a given rate.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::moment::Moment;
use super::super::refusal::{Code, Refusal};
use super::State;
use super::message::Message;

/// One move task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Transfer {
    pub(crate) id: Uuid,
    /// The dead-letter queue.
    pub(crate) source: String,
    /// The one queue for all, or each message's own source.
    pub(crate) destination: Option<String>,
    /// Messages a second; as fast as possible when absent.
    pub(crate) rate: Option<u32>,
    pub(crate) started: Moment,
    pub(crate) moved: u64,
    pub(crate) to_move: u64,
    pub(crate) status: Status,
    pub(crate) failure: Option<String>,
}

/// How a move task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Status {
    Running,
    Completed,
    Cancelled,
    Failed,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }
}

/// How many ended tasks of one source are remembered.
const REMEMBERED: usize = 10;

impl Transfer {
    /// When a running task may move its next message.
    pub(super) fn next_due(&self) -> Option<Moment> {
        if self.status != Status::Running {
            return None;
        }
        let Some(rate) = self.rate else {
            return Some(self.started);
        };
        let micros = self.moved.saturating_mul(1_000_000) / u64::from(rate.max(1));
        Some(self.started.plus(Duration::from_micros(micros)))
    }
}

impl State {
    /// Starts a task; without a rate it has ended when this returns.
    pub(crate) fn start_transfer(
        &mut self,
        id: Uuid,
        source_arn: &str,
        destination_arn: Option<&str>,
        rate: Option<u32>,
        now: Moment,
    ) -> Result<(), Refusal> {
        self.advance_all(now);
        let source = self.transfer_source(source_arn)?.to_owned();
        if self.dead_letter_sources(&source, "").next().is_none() {
            return Err(Refusal::new(
                Code::InvalidParameterValue,
                "Source queue must be configured as a Dead Letter Queue.",
            ));
        }
        let destination = match destination_arn {
            None => None,
            Some(arn) => Some(self.transfer_source(arn)?.to_owned()),
        };
        if destination.as_deref() == Some(source.as_str()) {
            return Err(Refusal::new(
                Code::InvalidParameterValue,
                "Source queue arn and destination queue arn cannot be the same.",
            ));
        }
        if let Some(destination) = &destination
            && self.queue(destination)?.fifo.is_some() != self.queue(&source)?.fifo.is_some()
        {
            return Err(Refusal::new(
                Code::InvalidParameterValue,
                "Source queue and destination queue must be of the same type.",
            ));
        }
        if self
            .transfers
            .iter()
            .any(|task| task.source == source && task.status == Status::Running)
        {
            return Err(Refusal::new(
                Code::UnsupportedOperation,
                "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
            ));
        }
        let to_move = self.queue(&source)?.counts().visible;
        self.transfers.push(Transfer {
            id,
            source,
            destination,
            rate,
            started: now,
            moved: 0,
            to_move,
            status: Status::Running,
            failure: None,
        });
        self.advance_transfers(now);
        Ok(())
    }

    /// Ends a running task and returns how much it had moved.
    pub(crate) fn cancel_transfer(&mut self, id: Uuid, now: Moment) -> Result<u64, Refusal> {
        self.advance_all(now);
        let task = self
            .transfers
            .iter_mut()
            .find(|task| task.id == id)
            .ok_or_else(|| Refusal::new(Code::ResourceNotFound, "Task does not exist."))?;
        if task.status != Status::Running {
            return Err(Refusal::new(
                Code::UnsupportedOperation,
                format!(
                    "Only a running task can be cancelled; this one is {}.",
                    task.status.as_str()
                ),
            ));
        }
        task.status = Status::Cancelled;
        Ok(task.moved)
    }

    /// The tasks of one source, the latest first.
    pub(crate) fn transfers_of(&self, source_arn: &str) -> Result<Vec<&Transfer>, Refusal> {
        let source = self.transfer_source(source_arn)?;
        Ok(self
            .transfers
            .iter()
            .rev()
            .filter(|task| task.source == source)
            .collect())
    }

    fn transfer_source<'a>(&self, arn: &'a str) -> Result<&'a str, Refusal> {
        self.terms
            .name_in(arn)
            .filter(|name| self.queues.contains_key(*name))
            .ok_or_else(|| {
                Refusal::new(
                    Code::ResourceNotFound,
                    "The resource that you specified for the SourceArn or DestinationArn parameter doesn't exist.",
                )
            })
    }

    /// Moves what the running tasks may have moved by now.
    pub(super) fn advance_transfers(&mut self, now: Moment) {
        if self
            .transfers
            .iter()
            .all(|task| task.status != Status::Running)
        {
            return;
        }
        let mut transfers = std::mem::take(&mut self.transfers);
        for task in &mut transfers {
            while task.status == Status::Running && task.next_due().is_some_and(|due| due <= now) {
                self.step(task, now);
            }
        }
        // Of each source only the latest ended tasks are remembered.
        let mut kept = std::collections::BTreeMap::<String, usize>::new();
        let mut keep: Vec<bool> = transfers
            .iter()
            .rev()
            .map(|task| {
                let seen = kept.entry(task.source.clone()).or_default();
                *seen += 1;
                *seen <= REMEMBERED || task.status == Status::Running
            })
            .collect();
        transfers.retain(|_| keep.pop().unwrap_or(true));
        self.transfers = transfers;
    }

    fn step(&mut self, task: &mut Transfer, now: Moment) {
        let due = task.next_due().unwrap_or(now).min(now);
        let Some(source) = self.queues.get_mut(&task.source) else {
            fail(task, "AWS.SimpleQueueService.NonExistentQueue");
            return;
        };
        source.advance(due, &mut self.log);
        let Some(front) = source.front().filter(|_| task.moved < task.to_move) else {
            task.status = Status::Completed;
            return;
        };
        let destination = match (&task.destination, &front.source) {
            (Some(name), _) => name.clone(),
            (None, Some(arn)) => match self.terms.name_in(arn) {
                Some(name) => name.to_owned(),
                None => return fail(task, "CouldNotDetermineMessageSource"),
            },
            (None, None) => return fail(task, "CouldNotDetermineMessageSource"),
        };
        if !self.queues.contains_key(&destination) {
            return fail(task, "AWS.SimpleQueueService.NonExistentQueue");
        }
        let taken = self
            .queues
            .get_mut(&task.source)
            .and_then(|source| source.take_front(due, &mut self.log));
        if let (Some(message), Some(queue)) = (taken, self.queues.get_mut(&destination)) {
            // A moved message is a new one, with an id and a time of its own.
            let id = derived(task.id, message.id);
            queue.advance(due, &mut self.log);
            let deduplication = message.deduplication;
            queue.adopt(Message {
                deduplication,
                ..Message::new(id, message.content, due)
            });
            super::touch(&mut self.touched, &destination);
            task.moved += 1;
        }
        if task.moved >= task.to_move {
            task.status = Status::Completed;
        }
    }
}

fn fail(task: &mut Transfer, reason: &str) {
    task.status = Status::Failed;
    task.failure = Some(reason.to_owned());
}

/// An id that a replay finds again.
fn derived(task: Uuid, message: Uuid) -> Uuid {
    use md5::{Digest as _, Md5};
    let sum = Md5::new()
        .chain_update(task.as_bytes())
        .chain_update(message.as_bytes())
        .finalize();
    uuid::Builder::from_random_bytes(sum.into()).into_uuid()
}
