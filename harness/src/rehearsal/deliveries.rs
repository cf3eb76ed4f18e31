//! Who holds which delivery of which message copy.

use std::collections::BTreeMap;

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
    /// No longer in anybody's hand.
    Over,
}

/// All deliveries of a rehearsal.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    all: BTreeMap<String, Delivery>,
}

impl Deliveries {
    /// A copy was handed over; an earlier delivery of the same copy is over.
    pub(super) fn deliver(&mut self, delivery: Delivery) {
        for earlier in self.all.values_mut() {
            if earlier.message_id == delivery.message_id {
                earlier.state = DeliveryState::Over;
            }
        }
        self.all.insert(delivery.receipt.clone(), delivery);
    }

    pub(super) fn get(&self, receipt: &str) -> Option<&Delivery> {
        self.all.get(receipt)
    }

    /// Deleted, or given back at once.
    pub(super) fn end(&mut self, receipt: &str) {
        self.set(receipt, DeliveryState::Over);
    }

    /// Its owner changed its visibility.
    pub(super) fn touch(&mut self, receipt: &str) {
        if self
            .get(receipt)
            .is_some_and(|delivery| delivery.state == DeliveryState::Held)
        {
            self.set(receipt, DeliveryState::Touched);
        }
    }

    fn set(&mut self, receipt: &str, state: DeliveryState) {
        if let Some(delivery) = self.all.get_mut(receipt) {
            delivery.state = state;
        }
    }

    /// What an incarnation surely has in hand.
    pub(super) fn held_by(&self, owner: &Incarnation) -> Vec<&Delivery> {
        self.of(owner, |state| state == DeliveryState::Held)
    }

    /// What an incarnation has, or gave back for a while: what would stay invisible
    /// after its death.
    pub(super) fn unsettled_of(&self, owner: &Incarnation) -> Vec<&Delivery> {
        self.of(owner, |state| state != DeliveryState::Over)
    }

    fn of(&self, owner: &Incarnation, wanted: impl Fn(DeliveryState) -> bool) -> Vec<&Delivery> {
        let of_owner = |delivery: &&Delivery| delivery.owner == *owner && wanted(delivery.state);
        self.all.values().filter(of_owner).collect()
    }

    /// The latest delivery of each copy of a message that was not settled.
    pub(super) fn unsettled_for(&self, message: &MessageName) -> Vec<Delivery> {
        self.all
            .values()
            .filter(|delivery| delivery.message.as_ref() == Some(message))
            .filter(|delivery| delivery.state != DeliveryState::Over)
            .cloned()
            .collect()
    }

    /// Everything that somebody holds for sure.
    pub(super) fn held(&self) -> impl Iterator<Item = &Delivery> {
        self.all
            .values()
            .filter(|delivery| delivery.state == DeliveryState::Held)
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
}
