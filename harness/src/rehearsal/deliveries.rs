//! Who holds which delivery of which message copy.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::ids::{DependencyName, Incarnation, MessageName};

/// One receive of one copy.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) dependency: DependencyName,
    pub(super) queue: String,
    pub(super) message_id: String,
    pub(super) receipt: String,
    pub(super) message: Option<MessageName>,
    pub(super) owner: Incarnation,
    pub(super) state: DeliveryState,
}

/// What has become of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryState {
    /// Its owner has it in hand.
    Held,
    /// Its owner set its visibility: an extension, or a release with back-off. It
    /// counts as released once the owner asks for more.
    Touched,
}

/// All deliveries of a rehearsal. Only those that are not over are ever searched, each by
/// its owner or its copy: a call costs the same however many came before it.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    /// By receipt.
    open: BTreeMap<String, Delivery>,
    of_owner: BTreeMap<Incarnation, BTreeSet<String>>,
    of_copy: HashMap<String, String>,
    /// What a receiver may still say of a delivery that is over.
    over: HashMap<String, Known>,
}

/// What is known of a delivery for good.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) message_id: String,
    pub(super) message: Option<MessageName>,
}

impl Deliveries {
    /// A copy was handed over; an earlier delivery of the same copy is over.
    pub(super) fn deliver(&mut self, delivery: Delivery) {
        if let Some(earlier) = self.of_copy.get(&delivery.message_id).cloned() {
            self.end(&earlier);
        }
        let receipt = delivery.receipt.clone();
        self.end(&receipt);
        self.of_copy
            .insert(delivery.message_id.clone(), receipt.clone());
        let of_owner = self.of_owner.entry(delivery.owner.clone()).or_default();
        of_owner.insert(receipt.clone());
        self.over.remove(&receipt);
        self.open.insert(receipt, delivery);
    }

    /// A delivery that is not over.
    pub(super) fn get(&self, receipt: &str) -> Option<&Delivery> {
        self.open.get(receipt)
    }

    /// What is known of a delivery, also if it is over.
    pub(super) fn known(&self, receipt: &str) -> Option<Known> {
        let open = self.open.get(receipt).map(Known::of);
        open.or_else(|| self.over.get(receipt).cloned())
    }

    /// Whose copy it is became known.
    pub(super) fn name(&mut self, message_id: &str, message: &MessageName) {
        for delivery in self.open.values_mut() {
            if delivery.message_id == message_id {
                delivery.message.get_or_insert_with(|| message.clone());
            }
        }
        for known in self.over.values_mut() {
            if known.message_id == message_id {
                known.message.get_or_insert_with(|| message.clone());
            }
        }
    }

    /// Deleted, or given back at once.
    pub(super) fn end(&mut self, receipt: &str) {
        let Some(delivery) = self.open.remove(receipt) else {
            return;
        };
        if let Some(of_owner) = self.of_owner.get_mut(&delivery.owner) {
            of_owner.remove(receipt);
            if of_owner.is_empty() {
                self.of_owner.remove(&delivery.owner);
            }
        }
        self.of_copy.remove(&delivery.message_id);
        self.over.insert(receipt.to_owned(), Known::of(&delivery));
    }

    /// Its owner changed its visibility.
    pub(super) fn touch(&mut self, receipt: &str) {
        if let Some(delivery) = self.open.get_mut(receipt) {
            delivery.state = DeliveryState::Touched;
        }
    }

    /// What an incarnation surely has in hand.
    pub(super) fn held_by(&self, owner: &Incarnation) -> Vec<&Delivery> {
        let mut held = self.unsettled_of(owner);
        held.retain(|delivery| delivery.state == DeliveryState::Held);
        held
    }

    /// What an incarnation has, or gave back for a while: what would stay invisible
    /// after its death.
    pub(super) fn unsettled_of(&self, owner: &Incarnation) -> Vec<&Delivery> {
        let receipts = self.of_owner.get(owner).into_iter().flatten();
        receipts
            .filter_map(|receipt| self.open.get(receipt))
            .collect()
    }

    /// The latest delivery of each copy of a message that was not settled.
    pub(super) fn unsettled_for(&self, message: &MessageName) -> Vec<Delivery> {
        let of_message = |delivery: &&Delivery| delivery.message.as_ref() == Some(message);
        self.open.values().filter(of_message).cloned().collect()
    }

    /// What was given back for a while.
    pub(super) fn touched(&self) -> Vec<Delivery> {
        let touched = |delivery: &&Delivery| delivery.state == DeliveryState::Touched;
        self.open.values().filter(touched).cloned().collect()
    }

    /// Everything that somebody holds for sure.
    pub(super) fn held(&self) -> impl Iterator<Item = &Delivery> {
        let held = |delivery: &&Delivery| delivery.state == DeliveryState::Held;
        self.open.values().filter(held)
    }
}

impl Known {
    fn of(delivery: &Delivery) -> Self {
        Self {
            message_id: delivery.message_id.clone(),
            message: delivery.message.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(receipt: &str, message_id: &str, start: u32) -> Delivery {
        Delivery {
            dependency: "queue".into(),
            queue: "jobs".to_owned(),
            message_id: message_id.to_owned(),
            receipt: receipt.to_owned(),
            message: None,
            owner: Incarnation {
                role: "worker".into(),
                instance: 1,
                start,
            },
            state: DeliveryState::Held,
        }
    }

    #[test]
    fn a_later_delivery_of_a_copy_ends_the_earlier_one() {
        let mut deliveries = Deliveries::default();
        let (first, second) = (delivery("r1", "m", 1), delivery("r2", "m", 2));
        deliveries.deliver(first.clone());
        assert_eq!(deliveries.held_by(&first.owner).len(), 1);
        deliveries.deliver(second.clone());
        assert!(deliveries.held_by(&first.owner).is_empty());
        assert_eq!(deliveries.held_by(&second.owner).len(), 1);
    }

    #[test]
    fn a_touched_delivery_is_unsettled_and_not_surely_held() {
        let mut deliveries = Deliveries::default();
        let one = delivery("r1", "m", 1);
        deliveries.deliver(one.clone());
        deliveries.touch("r1");
        assert!(deliveries.held_by(&one.owner).is_empty());
        assert_eq!(deliveries.unsettled_of(&one.owner).len(), 1);
        deliveries.end("r1");
        assert!(deliveries.unsettled_of(&one.owner).is_empty());
    }

    #[test]
    fn what_is_over_is_known_and_searched_no_more() {
        let mut deliveries = Deliveries::default();
        let owner = delivery("", "", 1).owner;
        for number in 0..1_000 {
            let (receipt, copy) = (format!("r{number}"), format!("m{number}"));
            deliveries.deliver(delivery(&receipt, &copy, 1));
            if number > 0 {
                deliveries.end(&format!("r{}", number - 1));
            }
            assert_eq!(deliveries.open.len(), 1);
            assert_eq!(deliveries.unsettled_of(&owner).len(), 1);
        }
        assert_eq!(deliveries.of_copy.len(), 1);
        assert!(deliveries.get("r1").is_none());
        assert_eq!(deliveries.known("r1").unwrap().message_id, "m1");
        deliveries.touch("r1");
        assert!(deliveries.get("r1").is_none());
        deliveries.end("r999");
        assert!(deliveries.of_owner.is_empty());
    }

    #[test]
    fn the_end_of_an_earlier_delivery_leaves_the_later_one_alone() {
        let mut deliveries = Deliveries::default();
        deliveries.deliver(delivery("r1", "m", 1));
        deliveries.deliver(delivery("r2", "m", 1));
        deliveries.end("r1");
        assert_eq!(deliveries.held().count(), 1);
        deliveries.deliver(delivery("r3", "m", 1));
        assert!(deliveries.get("r2").is_none());
    }
}
