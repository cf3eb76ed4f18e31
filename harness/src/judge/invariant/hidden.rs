//! A message that its owner lost, or gave back as it ended, comes into sight again within
//! the visibility of its queue. The harness shortens that time to go on at once; what it
//! would have been without the harness is judged here.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::history::Event;
use crate::ids::{CallId, Incarnation};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "a lost message comes back in time";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    // By call: what a receive asks for. By receipt: when it was asked, and for how long.
    let mut receives: HashMap<CallId, u64> = HashMap::new();
    let mut hides: HashMap<&str, (u64, u64)> = HashMap::new();
    let mut dead: BTreeSet<&Incarnation> = BTreeSet::new();
    let mut violations = Vec::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Receiving {
                call,
                hides: Some(seconds),
                ..
            } => {
                receives.insert(*call, *seconds);
            }
            Event::Delivered { call, receipt, .. } => {
                if let Some(seconds) = receives.get(call) {
                    hides.insert(receipt, (entry.at_us, *seconds));
                }
            }
            Event::VisibilityChanged {
                receipt, seconds, ..
            } => {
                let seconds = u64::try_from(*seconds).unwrap_or_default();
                hides.insert(receipt, (entry.at_us, seconds));
            }
            Event::Exited { incarnation, .. } => {
                dead.insert(incarnation);
            }
            Event::Expired {
                receipt,
                message_id,
                message,
                owner,
                allowed: Some(allowed),
            } if dead.contains(owner) => {
                let Some((asked, seconds)) = hides.get(receipt.as_str()) else {
                    continue;
                };
                let gone = Duration::from_micros(entry.at_us.saturating_sub(*asked));
                let left = Duration::from_secs(*seconds).saturating_sub(gone);
                if left > Duration::from_secs(*allowed) {
                    let whose = message.as_ref().map_or(message_id.as_str(), |m| m.as_str());
                    violations.push(Violation {
                        invariant: NAME,
                        text: format!(
                            "{whose} would have stayed hidden for {} s after {owner} was gone; its queue hides for {allowed} s",
                            left.as_secs()
                        ),
                        evidence: vec![entry.seq],
                    });
                }
            }
            _ => {}
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::DeathCause;
    use crate::judge::story::{Story, packer};

    /// M1 is hidden for so long by whoever then dies.
    fn hidden(seconds: i64, dies: bool) -> Story {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy");
        let receipt = format!("copy-{}", story.last_call().0);
        let story = story.then(Event::VisibilityChanged {
            call: CallId(90),
            receipt: receipt.clone(),
            message: Some("M1".into()),
            seconds,
        });
        let story = if dies {
            story.exited(DeathCause::Ordered, &["M1"])
        } else {
            story
        };
        story.then(Event::Expired {
            receipt,
            message_id: "copy".to_owned(),
            message: Some("M1".into()),
            owner: packer(1),
            allowed: Some(30),
        })
    }

    #[test]
    fn ten_hours_after_its_owner_is_too_long() {
        let told = hidden(36_000, true).judged().violations;
        assert_eq!(told[0].invariant, NAME);
        assert!(
            told[0].text.contains("35999 s after packer-1#1 was gone"),
            "{told:?}"
        );
    }

    #[test]
    fn as_long_as_the_queue_hides_is_right_and_so_is_what_a_living_owner_does() {
        assert!(hidden(30, true).broken_rules().is_empty());
        assert!(hidden(36_000, false).broken_rules().is_empty());
    }

    #[test]
    fn a_receive_may_hide_for_too_long_too() {
        let asked = Story::new().accepted("M1").sent("M1", "copy");
        let told = asked.delivered("M1", "copy");
        let call = told.last_call();
        let mut events = told.events().to_vec();
        let delivered = events.pop().expect("it was told");
        let story = Story::of(events)
            .then(Event::Receiving {
                call,
                incarnation: packer(1),
                at_most: 1,
                hides: Some(43_200),
            })
            .then(delivered)
            .exited(DeathCause::Ordered, &["M1"])
            .then(Event::Expired {
                receipt: format!("copy-{}", call.0),
                message_id: "copy".to_owned(),
                message: Some("M1".into()),
                owner: packer(1),
                allowed: Some(30),
            });
        assert_eq!(story.broken_rules(), [NAME]);
    }
}
