//! No attempt starts without a receive of its message.

use std::collections::{BTreeMap, BTreeSet};

use crate::history::Event;
use crate::ids::{MessageName, RoleName};
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "no attempt without a receive";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let Some(witness) = evidence.manifest.attempts_witness() else {
        return Vec::new();
    };
    let roles: BTreeSet<&RoleName> = witness
        .add
        .iter()
        .filter_map(|stage| evidence.manifest.stages.get(stage))
        .flat_map(|stage| &stage.roles)
        .collect();
    let whose: BTreeMap<u64, &MessageName> = ledger
        .accounts
        .iter()
        .flat_map(|(message, account)| account.delivered.iter().map(move |at| (*at, message)))
        .collect();
    let mut receives: BTreeMap<&MessageName, Vec<u64>> = BTreeMap::new();
    let mut starts: BTreeMap<&MessageName, Vec<u64>> = BTreeMap::new();
    let mut convicted = BTreeSet::new();
    let mut violations = Vec::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Delivered { author, .. }
                if author
                    .incarnation()
                    .is_some_and(|by| roles.contains(&by.role)) =>
            {
                if let Some(message) = whose.get(&entry.seq) {
                    receives.entry(message).or_default().push(entry.seq);
                }
            }
            Event::Stage {
                stage,
                message: Some(message),
                ..
            } if witness.add.contains(stage) => {
                let at = starts.entry(message).or_default();
                at.push(entry.seq);
                let started = at.len();
                let count = receives.get(message).map_or(0, Vec::len);
                if started > count && convicted.insert(message) {
                    let text = format!(
                        "{message} was received {count} times, and {started} attempts were started"
                    );
                    let of_receives = receives.get(message).into_iter().flatten();
                    violations.push(Violation {
                        invariant: NAME,
                        text,
                        evidence: of_receives.chain(at.iter()).copied().collect(),
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
    use crate::judge::story::Story;

    fn received() -> Story {
        Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("tried", "M1")
    }

    #[test]
    fn one_attempt_for_each_receive_is_right() {
        let story = received().delivered("M1", "copy").passed("tried", "M1");
        assert!(story.broken_rules().is_empty());
    }

    #[test]
    fn two_attempts_on_one_receive_are_wrong() {
        let story = received().passed("tried", "M1");
        assert_eq!(story.broken_rules(), [NAME]);
        // Once for each message, however often.
        assert_eq!(story.passed("tried", "M1").broken_rules(), [NAME]);
    }

    #[test]
    fn an_attempt_that_begins_before_its_receive_is_wrong() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .passed("tried", "M1")
            .delivered("M1", "copy");
        assert_eq!(story.broken_rules(), [NAME]);
    }

    #[test]
    fn receives_of_another_message_do_not_count() {
        let story = received().sent("M2", "other").delivered("M2", "other");
        assert_eq!(story.passed("tried", "M1").broken_rules(), [NAME]);
    }

    #[test]
    fn a_receive_whose_message_became_known_later_counts() {
        let mut told = received();
        let mut events = told.events().to_vec();
        for event in &mut events {
            if let Event::Delivered { message, .. } = event {
                *message = None;
            }
        }
        told = Story::of(events);
        assert!(told.broken_rules().is_empty());
    }
}
