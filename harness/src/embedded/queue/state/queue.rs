//! One queue: its messages, and for each standing one index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::moment::Moment;
use super::super::receipt::Receipt;
use super::super::settings::Settings;
use super::Outgoing;
use super::delivery_log::{DeliveryLog, Event};
use super::fifo::{Fifo, Sent};
use super::in_order::Round;
use super::message::{Message, Standing};
use super::outcome::{Deletion, Delivery, Expiry, NotChanged};
use super::tally::{Counts, Tally};

/// The longest that a message may stay hidden in all.
const MAX_HIDDEN: Duration = Duration::from_hours(12);

/// A queue.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) number: u64,
    #[serde(with = "shared_name")]
    pub(crate) name: Arc<str>,
    pub(crate) created: Moment,
    pub(crate) modified: Moment,
    pub(crate) settings: Settings,
    pub(crate) tags: BTreeMap<String, String>,
    pub(super) purged: Option<Moment>,
    pub(crate) tally: Tally,
    pub(super) messages: BTreeMap<u64, Message>,
    /// Order and deduplication, if it is a FIFO queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fifo: Option<Fifo>,
    /// Messages that another queue took over.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    moved: BTreeSet<u64>,
    next_message: u64,
    next_ticket: u64,
    #[serde(skip)]
    visible: BTreeMap<u64, u64>,
    #[serde(skip)]
    timers: BTreeSet<(Moment, u64)>,
    #[serde(skip)]
    ages: BTreeSet<(Moment, u64)>,
    #[serde(skip)]
    in_flight: usize,
    /// Messages that came on show and of which no waiting receive knows yet.
    #[serde(skip)]
    pub(super) fresh: usize,
}

impl Queue {
    pub(super) fn new(
        number: u64,
        name: &str,
        settings: Settings,
        tags: BTreeMap<String, String>,
        now: Moment,
    ) -> Self {
        Self {
            number,
            name: name.into(),
            created: now,
            modified: now,
            fifo: settings.fifo.map(|_| Fifo::default()),
            settings,
            tags,
            purged: None,
            tally: Tally::default(),
            messages: BTreeMap::new(),
            moved: BTreeSet::new(),
            next_message: 1,
            next_ticket: 1,
            visible: BTreeMap::new(),
            timers: BTreeSet::new(),
            ages: BTreeSet::new(),
            in_flight: 0,
            fresh: 0,
        }
    }

    /// Rebuilds the indices of a queue that was read from a journal.
    pub(super) fn index(&mut self) {
        for (&key, message) in &self.messages {
            if let Some(fifo) = &mut self.fifo {
                fifo.enter(message.group(), key);
            }
            self.ages.insert((message.sent, key));
            match message.standing {
                Standing::Visible(ticket) => {
                    self.visible.insert(ticket, key);
                }
                Standing::Delayed(until) => {
                    self.timers.insert((until, key));
                }
                Standing::InFlight(until) => {
                    self.timers.insert((until, key));
                    self.in_flight += 1;
                    if let Some(fifo) = &mut self.fifo {
                        fifo.went_in_flight(message.group());
                    }
                }
            }
        }
        let keys: Vec<u64> = self.messages.keys().copied().collect();
        for key in keys {
            self.regroup(key);
        }
    }

    /// How many messages stand where.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            visible: self.visible.len() as u64,
            in_flight: self.in_flight as u64,
            delayed: (self.timers.len() - self.in_flight) as u64,
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// When the next message comes on show by itself.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Lets time pass: delays and visibilities end, old messages are dropped, each
    /// in the order of its own moment.
    pub(super) fn advance(&mut self, now: Moment, log: &mut DeliveryLog) {
        let retention = self.settings.retention();
        loop {
            let timer = self.timers.first().copied();
            let age = self
                .ages
                .first()
                .map(|(sent, key)| (sent.plus(retention), *key));
            let timer_is_next = match (timer, age) {
                (Some((due, _)), Some((end, _))) => due <= end,
                (timer, _) => timer.is_some(),
            };
            let next = if timer_is_next { timer } else { age };
            let Some((at, key)) = next.filter(|(at, _)| *at <= now) else {
                return;
            };
            if timer_is_next {
                self.write(log, key, at, self.end_of_hiding(key));
                self.show(key);
            } else {
                self.write(log, key, at, Event::RetentionEnded);
                self.take(key);
                self.tally.expired += 1;
            }
        }
    }

    fn end_of_hiding(&self, key: u64) -> Event {
        match self.messages.get(&key).map(|message| message.standing) {
            Some(Standing::Delayed(_)) => Event::DelayEnded,
            _ => Event::VisibilityEnded,
        }
    }

    /// Takes a new message in, and says as what. One that a FIFO queue was sent before is
    /// not taken in again.
    pub(super) fn send(&mut self, outgoing: &Outgoing, now: Moment, log: &mut DeliveryLog) -> Sent {
        let mut message = Message::new(outgoing.id, Arc::clone(&outgoing.content), now);
        if let Some(fifo) = &mut self.fifo {
            let id = outgoing.deduplication.clone().unwrap_or_default();
            let by_group = self.settings.fifo.is_some_and(|fifo| fifo.scope_is_group);
            let scoped = if by_group {
                format!("{} {id}", message.group())
            } else {
                id.clone()
            };
            if let Some(sent) = fifo.sent_before(&scoped, now) {
                return sent;
            }
            message.sequence = Some(fifo.number());
            message.deduplication = Some(id);
            let sent = message.as_sent();
            fifo.remember_sent(scoped, sent, now);
        }
        let sent = message.as_sent();
        let delay = outgoing.delay.unwrap_or(self.settings.delay);
        let key = self.insert(message);
        if delay > 0 {
            let until = now.plus(Duration::from_secs(u64::from(delay)));
            self.hide(key, Standing::Delayed(until));
        } else {
            self.show(key);
        }
        self.tally.sent += 1;
        self.write(log, key, now, Event::Sent);
        sent
    }

    /// Takes a message in that was taken out of another queue.
    pub(super) fn adopt(&mut self, mut message: Message) {
        message.receives_before = message.receives;
        message.twice = false;
        message.doubled = false;
        message.revives = false;
        if let Some(fifo) = &mut self.fifo {
            message.sequence = Some(fifo.number());
        }
        let key = self.insert(message);
        self.show(key);
        self.tally.moved_in += 1;
    }

    /// Hands out up to `max` messages. Those received `limit` times already come
    /// back separately, taken out: they are dead letters.
    pub(super) fn receive(
        &mut self,
        max: usize,
        visibility: Option<u32>,
        limit: Option<u32>,
        now: Moment,
        log: &mut DeliveryLog,
    ) -> (Vec<Delivery>, Vec<Message>) {
        let hidden = Duration::from_secs(u64::from(visibility.unwrap_or(self.settings.visibility)));
        let mut round = Round::default();
        while round.deliveries.len() < max {
            let next = match &self.fifo {
                None => self.visible.first_key_value().map(|(_, key)| *key),
                Some(_) => self.next_in_order(&mut round),
            };
            let Some(key) = next else { break };
            let exhausted =
                |message: &Message| limit.is_some_and(|limit| message.receives_here() >= limit);
            if self.messages.get(&key).is_some_and(exhausted) {
                self.write(log, key, now, Event::DeadLettered);
                round.dead.extend(self.hand_over(key));
                self.tally.dead_lettered += 1;
            } else {
                self.hand_out(key, hidden, now, &mut round, log);
            }
        }
        // Only now, so that one receive never holds a message twice.
        for key in round.on_show_again {
            self.show(key);
        }
        (round.deliveries, round.dead)
    }

    fn hand_out(
        &mut self,
        key: u64,
        hidden: Duration,
        now: Moment,
        round: &mut Round,
        log: &mut DeliveryLog,
    ) {
        let Some(message) = self.messages.get_mut(&key) else {
            return;
        };
        message.receives += 1;
        message.first_received.get_or_insert(now);
        message.taken = now;
        if !message.doubled {
            message.oldest_good = message.receives;
        }
        message.doubled = message.twice;
        let stays_on_show = message.twice || hidden.is_zero();
        message.twice = false;
        let receipt = Receipt {
            queue: self.number,
            message: key,
            receive: message.receives,
        };
        let delivery = Delivery {
            receipt,
            message: message.clone(),
        };
        if stays_on_show {
            round.on_show_again.push(key);
            self.lift(key);
        } else {
            self.hide(key, Standing::InFlight(now.plus(hidden)));
        }
        self.tally.received += 1;
        round.deliveries.push(delivery);
        self.write(log, key, now, Event::Delivered(receipt));
    }

    /// Deletes a message by one of its handles.
    pub(super) fn delete(
        &mut self,
        receipt: Receipt,
        stale_deletes: bool,
        now: Moment,
        log: &mut DeliveryLog,
    ) -> Deletion {
        let key = receipt.message;
        let Some(message) = self.messages.get_mut(&key) else {
            return if self.moved.contains(&key) {
                Deletion::Moved
            } else {
                Deletion::Gone
            };
        };
        if self.fifo.is_some() {
            let held = matches!(message.standing, Standing::InFlight(_));
            if receipt.receive != message.receives || !held {
                self.write(log, key, now, Event::StaleDelete);
                return Deletion::Expired;
            }
        } else if receipt.receive < message.oldest_good && !stale_deletes {
            self.write(log, key, now, Event::StaleDelete);
            return Deletion::Stale;
        }
        if message.revives {
            message.revives = false;
            self.write(log, key, now, Event::Revived);
            self.show(key);
            return Deletion::Deleted;
        }
        self.write(log, key, now, Event::Deleted);
        self.take(key);
        self.tally.deleted += 1;
        Deletion::Deleted
    }

    /// Hides a message for this long from now, or shows it.
    pub(super) fn change_visibility(
        &mut self,
        receipt: Receipt,
        seconds: u32,
        now: Moment,
        log: &mut DeliveryLog,
    ) -> Result<(), NotChanged> {
        let key = receipt.message;
        let message = self.messages.get(&key).ok_or(NotChanged::Gone)?;
        if receipt.receive < message.oldest_good {
            return Err(NotChanged::Stale);
        }
        if !matches!(message.standing, Standing::InFlight(_)) {
            return Err(NotChanged::NotInFlight);
        }
        let until = now.plus(Duration::from_secs(u64::from(seconds)));
        if until.since(message.taken) > MAX_HIDDEN {
            return Err(NotChanged::TooLong);
        }
        self.write(log, key, now, Event::VisibilityChanged);
        if seconds == 0 {
            self.show(key);
        } else {
            self.hide(key, Standing::InFlight(until));
        }
        Ok(())
    }

    /// Does at once what the end of a visibility would have done.
    pub(super) fn expire(
        &mut self,
        receipt: Receipt,
        now: Moment,
        log: &mut DeliveryLog,
    ) -> Expiry {
        let key = receipt.message;
        let Some(message) = self.messages.get(&key) else {
            return Expiry::Gone;
        };
        if receipt.receive != message.receives {
            return Expiry::Superseded;
        }
        if !matches!(message.standing, Standing::InFlight(_)) {
            return Expiry::AlreadyVisible;
        }
        self.write(log, key, now, Event::ReceiptExpired);
        self.show(key);
        Expiry::MadeVisible
    }

    /// Arranges that a message is delivered once more than its handles account
    /// for: now, or after its deletion. False when it is not here.
    pub(super) fn duplicate(
        &mut self,
        id: Uuid,
        after_delete: bool,
        now: Moment,
        log: &mut DeliveryLog,
    ) -> bool {
        let Some((&key, message)) = self
            .messages
            .iter_mut()
            .find(|(_, message)| message.id == id)
        else {
            return false;
        };
        if after_delete {
            message.revives = true;
        } else if matches!(message.standing, Standing::InFlight(_)) {
            message.doubled = true;
            self.show(key);
        } else {
            message.twice = true;
        }
        self.write(log, key, now, Event::DuplicateAsked);
        true
    }

    fn find(&self, id: Uuid) -> Option<(u64, &Message)> {
        let mut messages = self.messages.iter();
        let found = messages.find(|(_, message)| message.id == id);
        found.map(|(key, message)| (*key, message))
    }

    /// Whether a message is here and delayed.
    pub(super) fn delays(&self, id: Uuid) -> bool {
        let found = self.find(id);
        found.is_some_and(|(_, message)| matches!(message.standing, Standing::Delayed(_)))
    }

    /// Does at once what the end of a message's delay would have done.
    pub(super) fn make_due(&mut self, id: Uuid, now: Moment, log: &mut DeliveryLog) -> bool {
        let Some((key, _)) = self.find(id).filter(|_| self.delays(id)) else {
            return false;
        };
        self.write(log, key, now, Event::DelayEnded);
        self.show(key);
        true
    }

    /// Drops every message.
    pub(super) fn purge(&mut self, now: Moment, log: &mut DeliveryLog) {
        let keys: Vec<u64> = self.messages.keys().copied().collect();
        for key in keys {
            self.write(log, key, now, Event::Purged);
            self.take(key);
            self.tally.purged += 1;
        }
        self.purged = Some(now);
    }

    /// The message that would be received next.
    pub(super) fn front(&self) -> Option<&Message> {
        let (_, key) = self.visible.first_key_value()?;
        self.messages.get(key)
    }

    /// Takes that message out, for another queue.
    pub(super) fn take_front(&mut self, now: Moment, log: &mut DeliveryLog) -> Option<Message> {
        let (_, &key) = self.visible.first_key_value()?;
        self.write(log, key, now, Event::Moved);
        self.tally.moved_out += 1;
        self.hand_over(key)
    }

    /// Takes a message out, for another queue.
    fn hand_over(&mut self, key: u64) -> Option<Message> {
        self.moved.insert(key);
        self.take(key)
    }

    fn insert(&mut self, mut message: Message) -> u64 {
        let key = self.next_message;
        self.next_message += 1;
        if let Some(fifo) = &mut self.fifo {
            fifo.enter(message.group(), key);
        }
        self.ages.insert((message.sent, key));
        // A place at the end, until the caller gives it its real standing.
        message.standing = Standing::Visible(self.next_ticket);
        self.messages.insert(key, message);
        key
    }

    fn take(&mut self, key: u64) -> Option<Message> {
        self.lift(key);
        let message = self.messages.remove(&key)?;
        self.ages.remove(&(message.sent, key));
        if let Some(fifo) = &mut self.fifo {
            fifo.leave(message.group(), key);
            self.fresh += Self::refreshed(fifo, message.group(), &self.messages);
        }
        Some(message)
    }

    /// Removes a message from the index of its standing.
    fn lift(&mut self, key: u64) {
        let Some(message) = self.messages.get(&key) else {
            return;
        };
        match message.standing {
            Standing::Visible(ticket) => {
                self.visible.remove(&ticket);
            }
            Standing::Delayed(until) => {
                self.timers.remove(&(until, key));
            }
            Standing::InFlight(until) => {
                if self.timers.remove(&(until, key)) {
                    self.in_flight -= 1;
                    if let Some(fifo) = &mut self.fifo {
                        fifo.came_back(message.group());
                    }
                }
            }
        }
    }

    /// Puts a message at the end of those on show; in a FIFO queue at its old place.
    pub(super) fn show(&mut self, key: u64) {
        self.lift(key);
        let Some(message) = self.messages.get_mut(&key) else {
            return;
        };
        let ticket = if self.fifo.is_some() {
            key
        } else {
            self.next_ticket += 1;
            self.next_ticket - 1
        };
        message.standing = Standing::Visible(ticket);
        self.visible.insert(ticket, key);
        self.fresh += 1;
        self.regroup(key);
    }

    pub(super) fn hide(&mut self, key: u64, standing: Standing) {
        self.lift(key);
        let (Standing::Delayed(until) | Standing::InFlight(until)) = standing else {
            return;
        };
        let Some(message) = self.messages.get_mut(&key) else {
            return;
        };
        message.standing = standing;
        self.timers.insert((until, key));
        if matches!(standing, Standing::InFlight(_)) {
            self.in_flight += 1;
            if let Some(fifo) = &mut self.fifo {
                fifo.went_in_flight(message.group());
            }
        }
        self.regroup(key);
    }

    fn write(&self, log: &mut DeliveryLog, key: u64, at: Moment, event: Event) {
        if let Some(message) = self.messages.get(&key) {
            log.write(at, &self.name, message.id, message.receives, event);
        }
    }
}

/// Serde's own support of shared strings is a feature that nothing else needs.
mod shared_name {
    use super::{Arc, Deserialize};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(name: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(name)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(from).map(Arc::from)
    }
}
