//! Figures that the manifest fixes are never anything else, whenever all is quiet.

use std::collections::BTreeSet;

use crate::history::Event;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "a figure is what it must always be";

pub(super) fn check(evidence: Evidence<'_>, _: &Ledger) -> Vec<Violation> {
    let mut convicted = BTreeSet::new();
    let mut violations = Vec::new();
    for entry in evidence.entries {
        let Event::Counted {
            total,
            label,
            value,
            source,
        } = &entry.event
        else {
            continue;
        };
        let fixed = evidence.manifest.totals.get(total);
        let Some(always) = fixed.and_then(|fixed| fixed.always) else {
            continue;
        };
        if *value != always && convicted.insert((total, label)) {
            let of = label.as_ref().map(|label| format!(" ({label})"));
            let who = match source.as_str() {
                "witness" => "was witnessed to be",
                _ => "is, says the system,",
            };
            violations.push(Violation {
                invariant: NAME,
                text: format!(
                    "{total}{} {who} {value}, and must always be {always}",
                    of.unwrap_or_default()
                ),
                evidence: vec![entry.seq],
            });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::Story;

    const FIXED: &str = "shipped to nobody";

    #[test]
    fn a_figure_that_is_as_it_must_be_is_right() {
        let story = Story::new().quiet().counted(FIXED, None, "claim", 0);
        assert!(story.broken_rules().is_empty());
        let free = Story::new().quiet().counted("tries", None, "witness", 0);
        assert!(free.broken_rules().is_empty());
    }

    #[test]
    fn another_figure_is_wrong_also_if_it_was_put_right_later() {
        let wrong = Story::new().quiet().counted(FIXED, None, "claim", 2);
        assert_eq!(wrong.broken_rules(), [NAME]);
        assert_eq!(
            wrong.judged().violations[0].text,
            "shipped to nobody is, says the system, 2, and must always be 0"
        );
        let mended = wrong.quiet().counted(FIXED, None, "claim", 0);
        assert_eq!(mended.broken_rules(), [NAME]);
    }

    #[test]
    fn each_label_is_held_against_it_and_convicted_once() {
        let story = Story::new()
            .quiet()
            .counted(FIXED, Some("north"), "claim", 1)
            .counted(FIXED, Some("north"), "claim", 1)
            .counted(FIXED, Some("south"), "claim", 0);
        assert_eq!(story.broken_rules(), [NAME]);
    }
}
