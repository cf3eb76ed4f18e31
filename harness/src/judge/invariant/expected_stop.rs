//! Consumption stops only in a scenario that expects it.

use crate::history::Event;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "consumption stops only as expected";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let stopped = evidence
        .manifest
        .consumption
        .as_ref()
        .and_then(|consumption| consumption.stopped.as_ref());
    let Some(stopped) = stopped else {
        return Vec::new();
    };
    let expected = evidence
        .entries
        .iter()
        .any(|entry| matches!(entry.event, Event::StopExpected));
    if expected {
        return Vec::new();
    }
    evidence
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Stage {
                stage, incarnation, ..
            } if stage == stopped => Some(Violation {
                invariant: NAME,
                text: format!("{incarnation} stopped consumption"),
                evidence: vec![entry.seq],
            }),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::consuming::consuming;
    use super::*;
    use crate::judge::story::Story;

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
    fn a_stop_that_nothing_expected_is_wrong() {
        assert_eq!(broken(&Story::new().passed("put-aside", "M1")), 1);
    }

    #[test]
    fn an_expected_stop_is_right() {
        let story = Story::new()
            .then(Event::StopExpected)
            .passed("put-aside", "M1");
        assert_eq!(broken(&story), 0);
    }
}
