//! A run that ends in normal mode ends at its configured concurrency: what each living
//! consumer last asked for, together with what it had in hand, allows as many.

use std::collections::BTreeSet;

use crate::history::Event;
use crate::ids::Incarnation;
use crate::judge::{Evidence, Hands, Ledger, Violation};

pub(super) const NAME: &str = "concurrency is restored";

/// The most messages that one receive of SQS may ask for.
const LARGEST: u32 = 10;

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let Some(consumption) = &evidence.manifest.consumption else {
        return Vec::new();
    };
    let last = evidence
        .entries
        .iter()
        .rposition(|entry| matches!(entry.event, Event::Consumption { .. }));
    let Some(last) = last else { return Vec::new() };
    let Event::Consumption {
        mode,
        configured: Some(configured),
    } = &evidence.entries[last].event
    else {
        return Vec::new();
    };
    if *mode != consumption.normal {
        return Vec::new();
    }
    let before = Evidence {
        entries: &evidence.entries[..last],
        ..evidence
    };
    let living = living(before);
    let hands = Hands::of(before);
    living
        .into_iter()
        .filter(|incarnation| incarnation.role == consumption.role)
        .filter_map(|incarnation| {
            let asked = hands
                .asked
                .iter()
                .rev()
                .find(|asked| asked.incarnation == *incarnation)?;
            // A message leaves the hand when its deletion is answered, and the process may
            // have counted before it knew of that.
            let most = asked.at_most as usize + asked.had;
            let wrong = asked.at_most > *configured
                || (most < *configured as usize && asked.at_most < LARGEST);
            wrong.then(|| Violation {
                invariant: NAME,
                text: format!(
                    "{incarnation} takes {} at a time in mode {mode}; {configured} are configured",
                    asked.at_most
                ),
                evidence: vec![asked.at, evidence.entries[last].seq],
            })
        })
        .collect()
}

fn living(evidence: Evidence<'_>) -> BTreeSet<&Incarnation> {
    let mut living = BTreeSet::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Receiving { incarnation, .. } => {
                living.insert(incarnation);
            }
            Event::Exited { incarnation, .. } => {
                living.remove(incarnation);
            }
            _ => {}
        }
    }
    living
}

#[cfg(test)]
mod tests {
    use super::super::consuming::{consuming, ended_in, receives};
    use super::*;
    use crate::history::DeathCause;
    use crate::judge::story::{Story, packer};

    fn broken(story: &Story) -> usize {
        let manifest = consuming();
        let entries = story.entries();
        let evidence = Evidence {
            manifest: &manifest,
            entries: &entries,
        };
        check(evidence, &Ledger::of(evidence)).len()
    }

    #[test]
    fn taking_all_that_is_configured_is_right() {
        let story = ended_in(receives(Story::new(), &packer(1), 5), "open", 5);
        assert_eq!(broken(&story), 0);
    }

    #[test]
    fn what_was_in_hand_counts() {
        let mut story = Story::new();
        for copy in ["a", "b", "c", "d"] {
            story = story.delivered("M1", copy);
        }
        let story = ended_in(receives(story, &packer(1), 1), "open", 5);
        assert_eq!(broken(&story), 0);
    }

    #[test]
    fn a_trial_that_never_ends_is_wrong_in_normal_mode_alone() {
        let story = receives(Story::new(), &packer(1), 1);
        assert_eq!(broken(&ended_in(story.clone(), "open", 5)), 1);
        assert_eq!(broken(&ended_in(story, "narrow", 5)), 0);
    }

    #[test]
    fn taking_more_than_configured_is_wrong() {
        let story = ended_in(receives(Story::new(), &packer(1), 6), "open", 5);
        assert_eq!(broken(&story), 1);
    }

    #[test]
    fn the_dead_take_nothing() {
        let story = receives(Story::new(), &packer(1), 1).exited(DeathCause::Ordered, &[]);
        assert_eq!(broken(&ended_in(story, "open", 5)), 0);
    }
}
