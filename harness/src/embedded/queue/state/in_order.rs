//! What a queue does only if it is a FIFO queue.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

use super::super::moment::Moment;
use super::super::receipt::Receipt;
use super::fifo::Fifo;
use super::message::{Message, Standing};
use super::outcome::Delivery;
use super::queue::Queue;

/// One receive under way.
#[derive(Default)]
pub(super) struct Round {
    pub(super) deliveries: Vec<Delivery>,
    pub(super) dead: Vec<Message>,
    /// Handed out without being hidden.
    pub(super) on_show_again: Vec<u64>,
    /// The group in hand and its last message that was.
    in_hand: Option<(String, u64)>,
    /// Groups that were in hand.
    done: BTreeSet<String>,
    /// The first message of the last group.
    after: u64,
}

impl Queue {
    /// The next message to hand out: of the group in hand as long as it has any that may
    /// follow, then of the open group that has waited longest.
    pub(super) fn next_in_order(&self, round: &mut Round) -> Option<u64> {
        loop {
            let fifo = self.fifo.as_ref()?;
            if let Some((group, last)) = &mut round.in_hand
                && let Some(key) = fifo.member_after(group, *last)
                // What follows one that is not to be had yet has to wait.
                && is_on_show(&self.messages, key)
            {
                *last = key;
                return Some(key);
            }
            let (first, group) = fifo.open_after(round.after)?;
            round.after = first;
            round.in_hand = round
                .done
                .insert(group.to_owned())
                .then(|| (group.to_owned(), 0));
        }
    }

    /// Looks again whether the group of a message is open.
    pub(super) fn regroup(&mut self, key: u64) {
        if let (Some(fifo), Some(message)) = (&mut self.fifo, self.messages.get(&key)) {
            self.fresh += Self::refreshed(fifo, message.group(), &self.messages);
        }
    }

    pub(super) fn refreshed(
        fifo: &mut Fifo,
        group: &str,
        messages: &BTreeMap<u64, Message>,
    ) -> usize {
        fifo.refresh(group, |key| is_on_show(messages, key))
    }

    /// What an earlier attempt with this id got, if all of it is still held under those
    /// handles: hidden anew, and delivered again as the same deliveries.
    pub(super) fn attempt_again(
        &mut self,
        id: &str,
        visibility: Option<u32>,
        now: Moment,
    ) -> Option<Vec<Delivery>> {
        let receipts = self.fifo.as_mut()?.attempt(id, now)?;
        let held = |receipt: &Receipt| {
            let message = self.messages.get(&receipt.message)?;
            let is_held = message.receives == receipt.receive
                && matches!(message.standing, Standing::InFlight(_));
            is_held.then(|| Delivery {
                receipt: *receipt,
                message: message.clone(),
            })
        };
        let deliveries: Vec<Delivery> = receipts.iter().map(held).collect::<Option<_>>()?;
        let seconds = visibility.unwrap_or(self.settings.visibility);
        let until = now.plus(Duration::from_secs(u64::from(seconds)));
        for receipt in receipts {
            self.hide(receipt.message, Standing::InFlight(until));
        }
        Some(deliveries)
    }

    /// Remembers what an attempt got.
    pub(super) fn remember_attempt(&mut self, id: String, deliveries: &[Delivery], now: Moment) {
        if let Some(fifo) = self.fifo.as_mut().filter(|_| !deliveries.is_empty()) {
            let receipts = deliveries.iter().map(|delivery| delivery.receipt);
            fifo.remember_attempt(id, receipts.collect(), now);
        }
    }

    /// Gives the delayed messages the queue's delay of now, counted from when each was
    /// sent: of a FIFO queue a new delay holds for what is there.
    pub(super) fn delay_anew(&mut self) {
        let delay = Duration::from_secs(u64::from(self.settings.delay));
        let delayed = |(key, message): (&u64, &Message)| {
            matches!(message.standing, Standing::Delayed(_)).then_some((*key, message.sent))
        };
        let delayed: Vec<(u64, Moment)> = self.messages.iter().filter_map(delayed).collect();
        for (key, sent) in delayed {
            self.hide(key, Standing::Delayed(sent.plus(delay)));
        }
    }

    /// Ends the deduplication of a message at once. False if nothing of it is remembered.
    pub(super) fn forget_sent(&mut self, message: Uuid) -> bool {
        let fifo = self.fifo.as_mut();
        fifo.is_some_and(|fifo| fifo.forget_sent(message))
    }
}

fn is_on_show(messages: &BTreeMap<u64, Message>, key: u64) -> bool {
    let message = messages.get(&key);
    message.is_some_and(|message| matches!(message.standing, Standing::Visible(_)))
}
