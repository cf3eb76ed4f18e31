//! What each process had in hand over time, and how much it asked for.

use std::collections::BTreeMap;

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
        // By copy: who has it, by which receipt.
        let mut held: BTreeMap<String, (Incarnation, String)> = BTreeMap::new();
        let mut had: BTreeMap<Incarnation, usize> = BTreeMap::new();
        for entry in evidence.entries {
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
                    let taken = (owner.clone(), receipt.clone());
                    if let Some((before, _)) = held.insert(message_id.clone(), taken) {
                        hands.change(entry.seq, &before, &held);
                    }
                    let now = hands.change(entry.seq, owner, &held);
                    let most = had.entry(owner.clone()).or_default();
                    *most = now.max(*most);
                }
                Event::Deleted { receipt, .. }
                | Event::Expired { receipt, .. }
                | Event::VisibilityChanged {
                    receipt,
                    seconds: 0,
                    ..
                } => {
                    let copy = held
                        .iter()
                        .find(|(_, (_, by))| by == receipt)
                        .map(|(copy, _)| copy.clone());
                    if let Some((owner, _)) = copy.and_then(|copy| held.remove(&copy)) {
                        hands.change(entry.seq, &owner, &held);
                    }
                }
                Event::Exited { incarnation, .. } => {
                    held.retain(|_, (owner, _)| owner != incarnation);
                    hands.change(entry.seq, incarnation, &held);
                }
                Event::Receiving {
                    call,
                    incarnation,
                    at_most,
                } => {
                    let now = count(incarnation, &held);
                    let most = had.insert(incarnation.clone(), now).unwrap_or_default();
                    hands.asked.push(Asked {
                        at: entry.seq,
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

    fn change(
        &mut self,
        at: u64,
        owner: &Incarnation,
        held: &BTreeMap<String, (Incarnation, String)>,
    ) -> usize {
        let now = count(owner, held);
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

fn count(owner: &Incarnation, held: &BTreeMap<String, (Incarnation, String)>) -> usize {
    held.values().filter(|(by, _)| by == owner).count()
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
