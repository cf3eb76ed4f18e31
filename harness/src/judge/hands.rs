//! What each process had in hand over time, and how much it asked for.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Evidence;
use crate::history::Event;
use crate::ids::{CallId, Incarnation, RoleName};

/// A receive that a consumer began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where.
    pub at: u64,
    /// The call.
    pub call: CallId,
    /// Who.
    pub incarnation: Incarnation,
    /// How many messages at most.
    pub at_most: u32,
    /// The most that it had in hand since it asked before, now included.
    pub had: usize,
}

/// What was in hand over a history.
#[derive(Clone, Debug, Default)]
pub struct Hands {
    /// Each change: where, whose, and how many messages from then on.
    pub changes: Vec<(u64, Incarnation, usize)>,
    /// Each receive.
    pub asked: Vec<Asked>,
}

impl Hands {
    /// Reads a history.
    pub fn of(evidence: Evidence<'_>) -> Self {
        let mut hands = Self::default();
        let mut held = Held::default();
        // The most that each had since it asked last.
        let mut had: BTreeMap<&Incarnation, usize> = BTreeMap::new();
        for entry in evidence.entries {
            let seq = entry.seq;
            match &entry.event {
                Event::Delivered {
                    author,
                    message_id,
                    receipt,
                    deliverable: true,
                    ..
                } => {
                    let Some(owner) = author.incarnation() else {
                        continue;
                    };
                    if let Some(before) = held.take(message_id, receipt, owner) {
                        hands.change(seq, before, &held);
                    }
                    let now = hands.change(seq, owner, &held);
                    let most = had.entry(owner).or_default();
                    *most = now.max(*most);
                }
                Event::Deleted { receipt, .. }
                | Event::Expired { receipt, .. }
                | Event::VisibilityChanged {
                    receipt,
                    seconds: 0,
                    ..
                } => {
                    if let Some(owner) = held.give(receipt) {
                        hands.change(seq, owner, &held);
                    }
                }
                Event::Exited { incarnation, .. } => {
                    held.end(incarnation);
                    hands.change(seq, incarnation, &held);
                }
                Event::Receiving {
                    call,
                    incarnation,
                    at_most,
                    ..
                } => {
                    let now = held.count(incarnation);
                    let most = had.insert(incarnation, now).unwrap_or_default();
                    hands.asked.push(Asked {
                        at: seq,
                        call: *call,
                        incarnation: incarnation.clone(),
                        at_most: *at_most,
                        had: most.max(now),
                    });
                }
                _ => {}
            }
        }
        hands
    }

    fn change(&mut self, at: u64, owner: &Incarnation, held: &Held<'_>) -> usize {
        let now = held.count(owner);
        self.changes.push((at, owner.clone(), now));
        now
    }

    /// The most that one process of a role had in hand at once, after `from` and before
    /// `to`.
    pub fn most(&self, role: &RoleName, from: u64, to: u64) -> usize {
        self.changes
            .iter()
            .filter(|(at, owner, _)| owner.role == *role && *at > from && *at < to)
            .map(|(_, _, count)| *count)
            .max()
            .unwrap_or_default()
    }
}

/// What is in whose hand at one place in a history.
#[derive(Default)]
struct Held<'e> {
    /// By copy: who has it, by which receipt.
    copies: HashMap<&'e str, (&'e Incarnation, &'e str)>,
    /// The copies by these receipts.
    receipts: HashMap<&'e str, &'e str>,
    /// The copies that each has.
    of: BTreeMap<&'e Incarnation, HashSet<&'e str>>,
}

impl<'e> Held<'e> {
    /// A copy comes into a hand; returns whose it leaves.
    fn take(
        &mut self,
        copy: &'e str,
        receipt: &'e str,
        owner: &'e Incarnation,
    ) -> Option<&'e Incarnation> {
        let before = self.drop(copy);
        self.copies.insert(copy, (owner, receipt));
        self.receipts.insert(receipt, copy);
        self.of.entry(owner).or_default().insert(copy);
        before
    }

    /// What came by this receipt leaves its hand.
    fn give(&mut self, receipt: &str) -> Option<&'e Incarnation> {
        let copy = *self.receipts.get(receipt)?;
        self.drop(copy)
    }

    fn drop(&mut self, copy: &str) -> Option<&'e Incarnation> {
        let (owner, receipt) = self.copies.remove(copy)?;
        self.receipts.remove(receipt);
        if let Some(of) = self.of.get_mut(owner) {
            of.remove(copy);
        }
        Some(owner)
    }

    fn end(&mut self, owner: &Incarnation) {
        for copy in self.of.remove(owner).unwrap_or_default() {
            if let Some((_, receipt)) = self.copies.remove(copy) {
                self.receipts.remove(receipt);
            }
        }
    }

    fn count(&self, owner: &Incarnation) -> usize {
        self.of.get(owner).map_or(0, HashSet::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story, packer};

    fn hands(story: &Story) -> Hands {
        Hands::of(Evidence {
            manifest: &MANIFEST,
            entries: &story.entries(),
        })
    }

    #[test]
    fn what_is_delivered_is_in_hand_until_its_owner_ends() {
        let story = Story::new()
            .delivered("M1", "one")
            .delivered("M2", "two")
            .exited(crate::history::DeathCause::Ordered, &["M1", "M2"])
            .delivered("M1", "one");
        let hands = hands(&story);
        let counts: Vec<usize> = hands.changes.iter().map(|(_, _, count)| *count).collect();
        assert_eq!(counts, [1, 2, 0, 1]);
        assert_eq!(hands.most(&"packer".into(), 0, u64::MAX), 2);
        let death = hands.changes[2].0;
        assert_eq!(hands.most(&"packer".into(), death, u64::MAX), 1);
    }

    #[test]
    fn a_receive_knows_the_most_in_hand_since_the_one_before() {
        let asks = |call| Event::Receiving {
            call: CallId(call),
            incarnation: packer(1),
            at_most: 2,
            hides: None,
        };
        let story = Story::new()
            .then(asks(1))
            .delivered("M1", "one")
            .then(Event::VisibilityChanged {
                call: CallId(9),
                receipt: "one-1".to_owned(),
                message: None,
                seconds: 0,
            })
            .then(asks(2))
            .then(asks(3));
        let had: Vec<usize> = hands(&story).asked.iter().map(|asked| asked.had).collect();
        assert_eq!(had, [0, 1, 0]);
    }
}
