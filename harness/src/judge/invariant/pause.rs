//! While consumption is paused, consumers begin no receive, but for the probes that the
//! manifest allows. One that was about to begin when the pause became durable counts
//! for nobody.

use std::collections::BTreeMap;

use crate::history::Event;
use crate::ids::Incarnation;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "nothing is received in a pause";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let Some(consumption) = &evidence.manifest.consumption else {
        return Vec::new();
    };
    let Some(paused) = &consumption.paused else {
        return Vec::new();
    };
    let allowed = consumption.probes as usize + 1;
    let mut violations = Vec::new();
    let mut pause: Option<u64> = None;
    let mut asked: BTreeMap<&Incarnation, Vec<u64>> = BTreeMap::new();
    for entry in evidence.entries {
        match &entry.event {
            Event::Stage { stage, .. } if stage == paused => {
                pause.get_or_insert(entry.seq);
            }
            Event::Stage { stage, .. } if consumption.resumed.contains(stage) => {
                pause = None;
                asked.clear();
            }
            Event::Receiving { incarnation, .. } if incarnation.role == consumption.role => {
                let Some(begun) = pause else { continue };
                let so_far = asked.entry(incarnation).or_default();
                so_far.push(entry.seq);
                if so_far.len() == allowed + 1 {
                    violations.push(Violation {
                        invariant: NAME,
                        text: format!("{incarnation} began {} receives in a pause", so_far.len()),
                        evidence: std::iter::once(begun)
                            .chain(so_far.iter().copied())
                            .collect(),
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
    use super::super::consuming::{consuming, receives};
    use super::*;
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
    fn a_receive_that_was_about_to_begin_is_nobodys_fault() {
        let story = receives(Story::new().passed("tried", "M1"), &packer(1), 1);
        assert_eq!(broken(&story), 0);
    }

    #[test]
    fn going_on_to_receive_is_wrong() {
        let story = receives(Story::new().passed("tried", "M1"), &packer(1), 1);
        let story = receives(story, &packer(1), 1);
        assert_eq!(broken(&story), 1);
    }

    #[test]
    fn receives_before_and_after_are_right() {
        let mut story = receives(Story::new(), &packer(1), 1);
        story = receives(story, &packer(1), 1).passed("tried", "M1");
        story = story.passed("tried-again", "M1");
        for _ in 0..5 {
            story = receives(story, &packer(1), 1);
        }
        assert_eq!(broken(&story), 0);
    }
}
