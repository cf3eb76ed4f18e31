//! The queue server without the server: a state machine over moments that are
//! passed in. It knows no clock, no socket and no file, so that a test can let
//! twelve hours pass in a microsecond, and a journal can replay it exactly.
//!
//! Every operation first lets time pass up to its moment; what happened by itself
//! in between (a visibility that ended, a message too old) happens in the order of
//! its own moments, whenever somebody looks. That makes a replay exact.

mod delivery_log;
mod fifo;
#[cfg(test)]
mod fifo_rules;
mod in_order;
mod message;
mod outcome;
mod queue;
mod redrive;
mod tally;
mod terms;
mod transfer;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::content::Content;
use super::moment::Moment;
use super::receipt::Receipt;
use super::refusal::{Code, Refusal};
use super::settings::Settings;

pub(crate) use delivery_log::{DeliveryLog, Entry, Event};
pub(crate) use fifo::Sent;
pub(crate) use message::Message;
pub(crate) use outcome::{Deletion, Delivery, Expiry, NotChanged};
pub(crate) use queue::Queue;
pub use tally::{Counts, Tally};
pub(crate) use terms::Terms;
pub(crate) use transfer::{Status, Transfer};

/// After a purge or a deletion, SQS wants a minute.
const COOL_DOWN: Duration = Duration::from_mins(1);

/// All queues.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) terms: Terms,
    queues: BTreeMap<String, Queue>,
    /// Names of deleted queues and when that was.
    deleted: BTreeMap<String, Moment>,
    transfers: Vec<Transfer>,
    next_queue: u64,
    #[serde(skip)]
    pub(crate) log: DeliveryLog,
    /// The queues that an operation had to do with since the last look at them.
    #[serde(skip)]
    touched: BTreeSet<String>,
}

/// A message about to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outgoing {
    pub(crate) id: Uuid,
    #[serde(with = "super::content::shared")]
    pub(crate) content: Arc<Content>,
    pub(crate) delay: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deduplication: Option<String>,
}

/// What a receive asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) max: usize,
    pub(crate) visibility: Option<u32>,
    /// Long polls get nothing at the in-flight limit, where others get an error.
    pub(crate) patient: bool,
    /// `ReceiveRequestAttemptId`. Standard queues ignore it.
    pub(crate) attempt: Option<&'a str>,
}

/// What one receive yields.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) deliveries: Vec<Delivery>,
    /// Messages went to the dead-letter queue, so something changed even when
    /// nothing was delivered.
    pub(crate) dead_lettered: bool,
}

impl State {
    pub(crate) fn new(terms: Terms) -> Self {
        Self {
            log: DeliveryLog::new(terms.log_bound),
            terms,
            queues: BTreeMap::new(),
            deleted: BTreeMap::new(),
            transfers: Vec::new(),
            next_queue: 1,
            touched: BTreeSet::new(),
        }
    }

    /// Makes a state that was read from a journal whole again.
    pub(crate) fn restore(&mut self) {
        self.log = DeliveryLog::new(self.terms.log_bound);
        for queue in self.queues.values_mut() {
            queue.index();
        }
    }

    /// Puts other terms in force.
    pub(crate) fn agree(&mut self, terms: Terms) {
        if terms.log_bound != self.terms.log_bound {
            self.log = DeliveryLog::new(terms.log_bound);
        }
        self.terms = terms;
    }

    /// All queues, by name.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &Queue> {
        self.queues.values()
    }

    /// The queues whose names follow `after`, by name.
    pub(crate) fn queues_after<'a>(&'a self, after: &str) -> impl Iterator<Item = &'a Queue> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.queues
            .range::<str, _>((Excluded(after), Unbounded))
            .map(|(_, queue)| queue)
    }

    pub(crate) fn queue(&self, name: &str) -> Result<&Queue, Refusal> {
        self.queues.get(name).ok_or_else(Refusal::no_queue)
    }

    fn queue_mut(&mut self, name: &str) -> Result<&mut Queue, Refusal> {
        self.queues.get_mut(name).ok_or_else(Refusal::no_queue)
    }

    /// The name of the queue with this number.
    pub(crate) fn name_of(&self, number: u64) -> Option<&str> {
        self.queues
            .values()
            .find(|queue| queue.number == number)
            .map(|queue| queue.name.as_ref())
    }

    /// Lets time pass in one queue, and in all move tasks.
    pub(crate) fn advance(&mut self, name: &str, now: Moment) {
        // Tasks first: each of their steps has a moment of its own, at most `now`.
        self.advance_transfers(now);
        if let Some(queue) = self.queues.get_mut(name) {
            queue.advance(now, &mut self.log);
            touch(&mut self.touched, name);
        }
    }

    /// Lets time pass everywhere.
    pub(crate) fn advance_all(&mut self, now: Moment) {
        self.advance_transfers(now);
        for (name, queue) in &mut self.queues {
            queue.advance(now, &mut self.log);
            if queue.fresh > 0 {
                touch(&mut self.touched, name);
            }
        }
    }

    /// When the next message comes on show in this queue without a call.
    pub(crate) fn next_due(&self, name: &str) -> Option<Moment> {
        let queue = self.queues.get(name).and_then(Queue::next_due);
        queue.into_iter().chain(self.transfer_due()).min()
    }

    /// When a move task may move its next message.
    pub(crate) fn transfer_due(&self) -> Option<Moment> {
        self.transfers.iter().filter_map(Transfer::next_due).min()
    }

    /// What operations had to do with since the last call.
    pub(crate) fn take_touched(&mut self) -> Vec<Touched> {
        let touched = std::mem::take(&mut self.touched);
        let look = |name: String| {
            let queue = self.queues.get_mut(&name)?;
            Some(Touched {
                number: queue.number,
                fresh: std::mem::take(&mut queue.fresh),
                due: queue.next_due(),
            })
        };
        touched.into_iter().filter_map(look).collect()
    }

    /// Creates a queue, or finds it when it exists with these attributes. True
    /// when it is new.
    pub(crate) fn create(
        &mut self,
        name: &str,
        attributes: &BTreeMap<String, String>,
        tags: &BTreeMap<String, String>,
        now: Moment,
    ) -> Result<bool, Refusal> {
        let fifo = is_fifo(attributes);
        check_name(name, fifo)?;
        if let Some(queue) = self.queues.get(name) {
            let same = queue.settings.with(attributes)? == queue.settings;
            return if same {
                Ok(false)
            } else {
                Err(Refusal::new(
                    Code::QueueNameExists,
                    "A queue already exists with the same name and a different value for one or more attributes.",
                ))
            };
        }
        let settings = Settings::of_type(fifo).with(attributes)?;
        self.check_redrive(name, &settings)?;
        if let Some(deleted) = self.deleted.get(name)
            && now.since(*deleted) < COOL_DOWN
            && !self.terms.recreate_at_once
        {
            return Err(Refusal::new(
                Code::QueueDeletedRecently,
                "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
            ));
        }
        self.deleted
            .retain(|_, deleted| now.since(*deleted) < COOL_DOWN);
        self.deleted.remove(name);
        let queue = Queue::new(self.next_queue, name, settings, tags.clone(), now);
        self.next_queue += 1;
        self.queues.insert(name.to_owned(), queue);
        Ok(true)
    }

    /// Deletes a queue with all that is in it, and returns its number.
    pub(crate) fn delete_queue(&mut self, name: &str, now: Moment) -> Result<u64, Refusal> {
        let queue = self.queues.remove(name).ok_or_else(Refusal::no_queue)?;
        self.deleted.insert(name.to_owned(), now);
        Ok(queue.number)
    }

    pub(crate) fn set_attributes(
        &mut self,
        name: &str,
        attributes: &BTreeMap<String, String>,
        now: Moment,
    ) -> Result<(), Refusal> {
        self.advance(name, now);
        let settings = self.queue(name)?.settings.with(attributes)?;
        if attributes.contains_key("RedrivePolicy") {
            self.check_redrive(name, &settings)?;
        }
        let queue = self.queue_mut(name)?;
        queue.settings = settings;
        queue.modified = now;
        if queue.fifo.is_some() && attributes.contains_key("DelaySeconds") {
            queue.delay_anew();
            self.advance(name, now);
        }
        Ok(())
    }

    pub(crate) fn tag(
        &mut self,
        name: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), Refusal> {
        let queue = self.queue_mut(name)?;
        let mut all = queue.tags.clone();
        all.extend(tags.clone());
        check_tags(&all)?;
        queue.tags = all;
        Ok(())
    }

    pub(crate) fn untag(&mut self, name: &str, keys: &[String]) -> Result<(), Refusal> {
        let queue = self.queue_mut(name)?;
        queue.tags.retain(|key, _| !keys.contains(key));
        Ok(())
    }

    pub(crate) fn purge(&mut self, name: &str, now: Moment) -> Result<(), Refusal> {
        self.advance(name, now);
        let queue = self.queues.get_mut(name).ok_or_else(Refusal::no_queue)?;
        if queue
            .purged
            .is_some_and(|purged| now.since(purged) < COOL_DOWN)
        {
            return Err(Refusal::new(
                Code::PurgeQueueInProgress,
                format!("Only one PurgeQueue operation on {name} is allowed every 60 seconds."),
            ));
        }
        queue.purge(now, &mut self.log);
        Ok(())
    }

    pub(crate) fn send(
        &mut self,
        name: &str,
        outgoing: &[Outgoing],
        now: Moment,
    ) -> Result<Vec<Sent>, Refusal> {
        self.advance(name, now);
        let queue = self.queues.get_mut(name).ok_or_else(Refusal::no_queue)?;
        let messages = outgoing.iter();
        let sent = messages.map(|message| queue.send(message, now, &mut self.log));
        Ok(sent.collect())
    }

    /// Receives messages.
    pub(crate) fn receive(
        &mut self,
        name: &str,
        asked: Asked<'_>,
        now: Moment,
    ) -> Result<Received, Refusal> {
        let Asked {
            max,
            visibility,
            patient,
            attempt,
        } = asked;
        self.advance(name, now);
        if let Some(id) = attempt
            && let Some(queue) = self.queues.get_mut(name)
            && let Some(deliveries) = queue.attempt_again(id, visibility, now)
        {
            return Ok(Received {
                deliveries,
                dead_lettered: false,
            });
        }
        let queue = self.queue(name)?;
        let target = self.dead_letter_queue(queue);
        let limit = target.as_ref().map(|(_, limit)| *limit);
        let room = self.terms.in_flight_limit.saturating_sub(queue.in_flight());
        if room == 0 {
            return if patient || queue.fifo.is_some() {
                Ok(Received::default())
            } else {
                Err(Refusal::new(
                    Code::OverLimit,
                    format!(
                        "Too many messages in flight: the limit is {}.",
                        self.terms.in_flight_limit
                    ),
                ))
            };
        }
        let queue = self.queues.get_mut(name).ok_or_else(Refusal::no_queue)?;
        let arn = self.terms.arn(name);
        let (deliveries, dead) =
            queue.receive(max.min(room), visibility, limit, now, &mut self.log);
        if let Some(id) = attempt {
            queue.remember_attempt(id.to_owned(), &deliveries, now);
        }
        let dead_lettered = !dead.is_empty();
        if let Some((target, _)) = target {
            self.bury(&target, &arn, dead, now);
        }
        Ok(Received {
            deliveries,
            dead_lettered,
        })
    }

    pub(crate) fn delete(
        &mut self,
        name: &str,
        receipt: Receipt,
        now: Moment,
    ) -> Result<Deletion, Refusal> {
        self.advance(name, now);
        let stale_deletes = self.terms.stale_handle_deletes;
        let limit = self.terms.in_flight_limit;
        let (queue, log) = self.addressed(name, receipt)?;
        let was_full = queue.in_flight() >= limit;
        let deletion = queue.delete(receipt, stale_deletes, now, log);
        if deletion == Deletion::Expired {
            return Err(Refusal::value(
                receipt,
                "ReceiptHandle",
                "The receipt handle has expired.",
            ));
        }
        if was_full && queue.in_flight() < limit {
            // There is room again for a long poll that got nothing at the limit.
            queue.fresh += 1;
        }
        Ok(deletion)
    }

    pub(crate) fn change_visibility(
        &mut self,
        name: &str,
        receipt: Receipt,
        seconds: u32,
        now: Moment,
    ) -> Result<(), Refusal> {
        self.advance(name, now);
        let (queue, log) = self.addressed(name, receipt)?;
        queue
            .change_visibility(receipt, seconds, now, log)
            .map_err(|reason| match reason {
                NotChanged::Gone | NotChanged::Stale => Refusal::value(
                    receipt,
                    "ReceiptHandle",
                    "Message does not exist or is not available for visibility timeout change.",
                ),
                NotChanged::NotInFlight => Refusal::new(
                    Code::MessageNotInflight,
                    "The specified message isn't in flight.",
                ),
                NotChanged::TooLong => Refusal::value(
                    seconds,
                    "VisibilityTimeout",
                    "Total VisibilityTimeout for the message is beyond the limit [43200 seconds].",
                ),
            })
    }

    /// Makes a message visible at once, as the end of its visibility would.
    pub(crate) fn expire(&mut self, receipt: Receipt, now: Moment) -> Expiry {
        let Some(name) = self.name_of(receipt.queue).map(str::to_owned) else {
            return Expiry::Gone;
        };
        self.advance(&name, now);
        match self.queues.get_mut(&name) {
            Some(queue) => queue.expire(receipt, now, &mut self.log),
            None => Expiry::Gone,
        }
    }

    /// Arranges one more delivery of a message. False when it is not there.
    pub(crate) fn duplicate(
        &mut self,
        name: &str,
        id: Uuid,
        after_delete: bool,
        now: Moment,
    ) -> Result<bool, Refusal> {
        self.advance(name, now);
        let queue = self.queues.get_mut(name).ok_or_else(Refusal::no_queue)?;
        if queue.fifo.is_some() {
            return Err(Refusal::new(
                Code::UnsupportedOperation,
                format!("{name} is a FIFO queue, which delivers nothing twice by itself."),
            ));
        }
        Ok(queue.duplicate(id, after_delete, now, &mut self.log))
    }

    /// Ends the delay of a message at once. False when it is not delayed (any more).
    pub(crate) fn make_due(&mut self, id: Uuid, now: Moment) -> Option<String> {
        let delayed = |(_, queue): &(&String, &Queue)| queue.delays(id);
        let name = self
            .queues
            .iter()
            .find(delayed)
            .map(|(name, _)| name.clone())?;
        self.advance(&name, now);
        let queue = self.queues.get_mut(&name)?;
        queue.make_due(id, now, &mut self.log).then_some(name)
    }

    /// Ends the deduplication of a message at once. None when nobody remembers it.
    pub(crate) fn forget_sent(&mut self, id: Uuid) -> Option<String> {
        let mut queues = self.queues.iter_mut();
        queues.find_map(|(name, queue)| queue.forget_sent(id).then(|| name.clone()))
    }

    /// The queue of a call, provided that the handle is one of that queue.
    fn addressed(
        &mut self,
        name: &str,
        receipt: Receipt,
    ) -> Result<(&mut Queue, &mut DeliveryLog), Refusal> {
        let queue = self.queues.get_mut(name).ok_or_else(Refusal::no_queue)?;
        if queue.number != receipt.queue {
            return Err(Refusal::bad_handle());
        }
        Ok((queue, &mut self.log))
    }
}

/// A queue that an operation had to do with.
#[derive(Debug)]
pub(crate) struct Touched {
    pub(crate) number: u64,
    /// How many messages can be had that could not before.
    pub(crate) fresh: usize,
    /// When the next comes on show by itself.
    pub(crate) due: Option<Moment>,
}

fn touch(touched: &mut BTreeSet<String>, name: &str) {
    if !touched.contains(name) {
        touched.insert(name.to_owned());
    }
}

/// Whether a queue with these attributes is to be a FIFO queue.
fn is_fifo(attributes: &BTreeMap<String, String>) -> bool {
    let asked = attributes.get("FifoQueue");
    asked.is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn check_name(name: &str, fifo: bool) -> Result<(), Refusal> {
    let stem = match name.strip_suffix(".fifo") {
        Some(stem) if fifo => stem,
        _ if fifo => "",
        _ => name,
    };
    let well_formed = !stem.is_empty()
        && name.len() <= 80
        && stem
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if well_formed {
        return Ok(());
    }
    let ending = if fifo { ", end with .fifo suffix" } else { "" };
    Err(Refusal::new(
        Code::InvalidParameterValue,
        format!(
            "The name of this queue can only include alphanumeric characters, hyphens, or underscores{ending} and be 1 to 80 in length."
        ),
    ))
}

/// The limits of tags that AWS states.
pub(crate) fn check_tags(tags: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let refuse = |reason: &str| Err(Refusal::new(Code::InvalidParameterValue, reason));
    if tags.len() > 50 {
        return refuse("A queue has at most 50 tags.");
    }
    for (key, value) in tags {
        let length = key.chars().count();
        if !(1..=128).contains(&length) || value.chars().count() > 256 {
            return refuse("A tag's key has 1 to 128 characters and its value at most 256.");
        }
        if key.to_ascii_lowercase().starts_with("aws:") {
            return refuse("A tag's key must not start with aws:.");
        }
    }
    Ok(())
}
