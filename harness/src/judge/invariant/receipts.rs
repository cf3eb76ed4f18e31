//! No receipt is touched after it was deleted or given back, not in vain either: whoever
//! goes on asking for more time has forgotten that its work is over.
//!
//! One call may have been on its way when the end was answered; the second was not.

use std::collections::{BTreeSet, HashMap};

use crate::history::Event;
use crate::ids::{Author, CallId};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "no receipt is touched after its end";

/// How many calls may have been on their way.
const ON_THEIR_WAY: usize = 1;

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let unheard = unheard(evidence);
    let mut owners: HashMap<&str, &Author> = HashMap::new();
    let mut ended: HashMap<&str, u64> = HashMap::new();
    let mut touched: HashMap<&str, Vec<u64>> = HashMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Delivered {
                receipt, author, ..
            } => {
                owners.insert(receipt, author);
            }
            Event::Deleted { call, receipt, .. }
            | Event::VisibilityChanged {
                call,
                receipt,
                seconds: 0,
                ..
            } if !unheard.contains(call) => {
                ended.entry(receipt).or_insert(entry.seq);
            }
            Event::Called {
                receipts, author, ..
            } => {
                for receipt in receipts {
                    let own = owners.get(receipt.as_str()) == Some(&author);
                    if own && ended.contains_key(receipt.as_str()) {
                        touched.entry(receipt).or_default().push(entry.seq);
                    }
                }
            }
            _ => {}
        }
    }
    let mut violations: Vec<Violation> = touched
        .into_iter()
        .filter(|(_, places)| places.len() > ON_THEIR_WAY)
        .map(|(receipt, places)| Violation {
            invariant: NAME,
            text: format!(
                "a receipt was touched {} times after it was deleted or given back",
                places.len()
            ),
            evidence: std::iter::once(ended[receipt])
                .chain(places.iter().copied().take(5))
                .collect(),
        })
        .collect();
    violations.sort_by(|one, other| one.evidence.cmp(&other.evidence));
    violations
}

/// Calls whose caller never heard the answer: it does right to ask again.
fn unheard(evidence: Evidence<'_>) -> BTreeSet<CallId> {
    let entries = evidence.entries.iter();
    entries
        .filter_map(|entry| match &entry.event {
            Event::Injected { call, .. }
            | Event::Abandoned { call, .. }
            | Event::Replied {
                call,
                deliverable: false,
                ..
            } => Some(*call),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Incarnation;
    use crate::judge::story::{Story, packer};
    use crate::tap::Side;

    /// M1 was received and deleted; by which receipt.
    fn ended() -> (Story, CallId, String) {
        let story = Story::new().delivered("M1", "copy");
        let receipt = format!("copy-{}", story.last_call().0);
        let story = story.called(&packer(1), "DeleteMessage orders");
        let call = story.last_call();
        let story = story.then(Event::Deleted {
            call,
            author: Author::Process(packer(1)),
            receipt: receipt.clone(),
            message_id: Some("copy".to_owned()),
            message: Some("M1".into()),
            kept: None,
        });
        (story, call, receipt)
    }

    /// More time is asked for by a receipt.
    fn touched(story: Story, by: &Incarnation, receipt: &str) -> Story {
        let told = story.called(by, "ChangeMessageVisibility orders");
        let mut events = told.events().to_vec();
        if let Some(Event::Called { receipts, .. }) = events.last_mut() {
            receipts.push(receipt.to_owned());
        }
        Story::of(events).calling_from(told.last_call().0)
    }

    fn twice(story: Story, by: &Incarnation, receipt: &str) -> Story {
        touched(touched(story, by, receipt), by, receipt)
    }

    fn broken(story: &Story) -> bool {
        story.broken_rules().contains(&NAME)
    }

    #[test]
    fn asking_again_and_again_for_what_is_over_is_wrong_even_if_it_is_refused() {
        let (story, _, receipt) = ended();
        let once = touched(story, &packer(1), &receipt);
        assert!(!broken(&once), "it may have been on its way");
        assert!(broken(&touched(once, &packer(1), &receipt)));
    }

    #[test]
    fn whoever_never_heard_the_answer_asks_again() {
        let (story, call, receipt) = ended();
        let story = story.then(Event::Injected {
            call,
            side: Side::After,
            what: "reply dropped".to_owned(),
            fault: None,
        });
        assert!(!broken(&twice(story, &packer(1), &receipt)));
    }

    #[test]
    fn another_receipt_and_another_owner_are_another_matter() {
        let (story, _, receipt) = ended();
        assert!(!broken(&twice(story.clone(), &packer(1), "another")));
        assert!(!broken(&twice(story, &packer(2), &receipt)));
    }
}
