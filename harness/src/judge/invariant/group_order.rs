//! Messages of one group of a FIFO queue end in the order in which the queue has them.
//!
//! The queue hands a later one out with or after an earlier one only; a consumer that got
//! both at once must not end the later one while the earlier one has no end yet. What was
//! handed out after the earlier one had left the group (an end, a dead letter) is right.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Event;
use crate::ids::{CallId, MessageName};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "in order within a group";

/// A message in its group.
struct Place<'e> {
    sequence: u128,
    copy: &'e str,
    message: &'e MessageName,
}

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let groups = groups(evidence);
    if groups.is_empty() {
        return Vec::new();
    }
    let received = received(evidence);
    let calls = calls_of_ends(evidence);
    let first_end = |message: &MessageName| {
        let ends = ledger.accounts.get(message)?.ends.iter();
        ends.min_by_key(|(seq, _)| *seq)
    };
    let mut violations = Vec::new();
    for ((queue, group), places) in groups {
        for (number, later) in places.iter().enumerate() {
            let Some((ended, end)) = first_end(later.message) else {
                continue;
            };
            for earlier in &places[..number] {
                let before = first_end(earlier.message);
                let in_order = before.is_some_and(|(seq, _)| {
                    seq <= ended
                        || calls
                            .get(seq)
                            .is_some_and(|call| calls.get(ended) == Some(call))
                });
                // Deleted without an end it is out of the group; that is another rule's.
                let account = ledger.accounts.get(earlier.message);
                let deleted = account.and_then(|account| account.deleted.get(earlier.copy));
                let gone = deleted.is_some_and(|seq| seq < ended);
                if in_order || gone || earlier.message == later.message {
                    continue;
                }
                let together = received_together(&received, earlier.copy, later.copy, *ended);
                let Some(together) = together else { continue };
                violations.push(Violation {
                    invariant: NAME,
                    text: format!(
                        "{} ended ({end}) before {}, which stands before it in the group `{group}` \
                         of {queue} and was received with it",
                        later.message, earlier.message
                    ),
                    evidence: vec![together, *ended],
                });
            }
        }
    }
    violations
}

/// The messages of each group, in the order that the queue gave them.
fn groups(evidence: Evidence<'_>) -> BTreeMap<(&str, &str), Vec<Place<'_>>> {
    let mut messages: BTreeMap<&str, &MessageName> = BTreeMap::new();
    let mut placed = Vec::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Sent {
                message_id,
                message: Some(message),
                ..
            }
            | Event::Delivered {
                message_id,
                message: Some(message),
                ..
            } => {
                messages.entry(message_id).or_insert(message);
            }
            Event::Placed {
                queue,
                message_id,
                group,
                sequence,
                ..
            } => placed.push((queue, group, message_id, sequence)),
            _ => {}
        }
    }
    let mut groups: BTreeMap<(&str, &str), Vec<Place<'_>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (queue, group, copy, sequence) in placed {
        // Sent again within the window, it is the same message at the same place.
        if let Some(message) = messages.get(copy.as_str())
            && let Ok(sequence) = sequence.parse()
            && seen.insert((queue, copy))
        {
            let place = Place {
                sequence,
                copy,
                message,
            };
            groups.entry((queue, group)).or_default().push(place);
        }
    }
    for places in groups.values_mut() {
        places.sort_by_key(|place| place.sequence);
    }
    groups
}

/// By copy: where it was delivered, and by which call.
fn received(evidence: Evidence<'_>) -> BTreeMap<&str, Vec<(u64, CallId)>> {
    let mut received: BTreeMap<&str, Vec<(u64, CallId)>> = BTreeMap::new();
    for entry in evidence.entries {
        if let Event::Delivered {
            call, message_id, ..
        } = &entry.event
        {
            received
                .entry(message_id)
                .or_default()
                .push((entry.seq, *call));
        }
    }
    received
}

/// Where the later copy was delivered by the same call as the earlier one, before this
/// place, and the earlier one not again since.
fn received_together(
    received: &BTreeMap<&str, Vec<(u64, CallId)>>,
    earlier: &str,
    later: &str,
    before: u64,
) -> Option<u64> {
    let last = |copy: &str| {
        let deliveries = received.get(copy)?.iter();
        deliveries.rev().find(|(seq, _)| *seq < before)
    };
    let ((_, first_call), (seq, call)) = (last(earlier)?, last(later)?);
    (first_call == call).then_some(*seq)
}

/// The call of each passage.
fn calls_of_ends(evidence: Evidence<'_>) -> BTreeMap<u64, CallId> {
    let entries = evidence.entries.iter();
    let passages = entries.filter_map(|entry| match &entry.event {
        Event::Stage { call, .. } => Some((entry.seq, *call)),
        _ => None,
    });
    passages.collect()
}

#[cfg(test)]
mod tests {
    use super::NAME;
    use crate::history::Event;
    use crate::ids::{Author, CallId};
    use crate::judge::story::{Story, packer};

    /// M1 and M2 stand in this order in one group of a queue.
    fn placed(groups: [&str; 2]) -> Story {
        let mut story = Story::new().accepted("M1").accepted("M2");
        for (number, (message, group)) in ["M1", "M2"].into_iter().zip(groups).enumerate() {
            let copy = format!("copy-of-{message}");
            story = story.sent(message, &copy).then(Event::Placed {
                call: CallId(90),
                queue: "orders.fifo".to_owned(),
                message_id: copy,
                group: group.to_owned(),
                sequence: format!("1884949646046769{number}"),
            });
        }
        story
    }

    fn received(story: Story, call: u64, messages: &[&str]) -> Story {
        messages.iter().fold(story, |story, message| {
            story.then(Event::Delivered {
                call: CallId(call),
                author: Author::Process(packer(1)),
                queue: "orders.fifo".to_owned(),
                message_id: format!("copy-of-{message}"),
                receipt: format!("{message}-{call}"),
                message: Some((*message).into()),
                deliverable: true,
                body: None,
            })
        })
    }

    fn shipped(story: Story, message: &str) -> Story {
        story
            .passed("tried", message)
            .wrote(message)
            .passed("shipped", message)
    }

    fn breaks(story: &Story) -> bool {
        story.broken_rules().contains(&NAME)
    }

    #[test]
    fn a_later_one_that_ends_first_is_wrong() {
        let both = received(placed(["g", "g"]), 91, &["M1", "M2"]);
        assert!(breaks(&shipped(both.clone(), "M2")));
        let later = shipped(shipped(both.clone(), "M2"), "M1");
        assert!(breaks(&later));
        assert!(!breaks(&shipped(shipped(both, "M1"), "M2")));
    }

    #[test]
    fn of_two_groups_either_may_end_first() {
        let both = received(placed(["g", "h"]), 91, &["M1", "M2"]);
        assert!(!breaks(&shipped(both, "M2")));
    }

    #[test]
    fn one_that_came_without_the_earlier_is_right() {
        let first = received(placed(["g", "g"]), 91, &["M1"]);
        let second = received(first, 92, &["M2"]);
        assert!(
            !breaks(&shipped(second, "M2")),
            "the earlier one left the group"
        );
    }

    #[test]
    fn both_in_one_call_end_at_once() {
        let both = received(placed(["g", "g"]), 91, &["M1", "M2"]);
        let mut story = both
            .passed("tried", "M1")
            .passed("tried", "M2")
            .wrote("M1")
            .wrote("M2");
        for message in ["M2", "M1"] {
            story = story.then(Event::Stage {
                stage: "shipped".into(),
                incarnation: packer(1),
                call: CallId(95),
                message: Some(message.into()),
                captured: std::collections::BTreeMap::new(),
            });
        }
        assert!(!breaks(&story));
    }
}
