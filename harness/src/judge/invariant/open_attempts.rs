//! Once things are quiet no attempt is open without a living owner.

use crate::history::Event;
use crate::judge::{Evidence, Ledger, OWNERLESS, Violation};

pub(super) const NAME: &str = "no attempt is open without an owner";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let last = evidence
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::Counted { total, value, .. } if total == OWNERLESS => Some((entry.seq, *value)),
            _ => None,
        });
    match last {
        Some((seq, count)) if count > 0 => vec![Violation {
            invariant: NAME,
            text: format!("{count} attempts are open and nobody alive works on them"),
            evidence: vec![seq],
        }],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};

    fn broken(story: &Story) -> usize {
        let entries = story.entries();
        let evidence = Evidence {
            manifest: &MANIFEST,
            entries: &entries,
        };
        check(evidence, &Ledger::of(evidence)).len()
    }

    #[test]
    fn an_attempt_that_nobody_works_on_is_wrong() {
        let story = Story::new().quiet().counted(OWNERLESS, None, "claim", 1);
        assert_eq!(broken(&story), 1);
    }

    #[test]
    fn the_last_count_decides() {
        let story = Story::new()
            .counted(OWNERLESS, None, "claim", 1)
            .counted(OWNERLESS, None, "claim", 0);
        assert_eq!(broken(&story), 0);
    }
}
