//! Every accepted job has an end, or is still somewhere: waiting to be sent, or in a
//! queue, or set aside where a person sees it.

use crate::history::Event;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "nothing is lost";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    // Until it was quiet after its acceptance, a message may still be on its way.
    let quiet = evidence
        .entries
        .iter()
        .filter(|entry| matches!(entry.event, Event::Quiet))
        .map(|entry| entry.seq)
        .max()
        .unwrap_or_default();
    let mut violations = Vec::new();
    for (message, account) in &ledger.accounts {
        let Some(accepted) = account.accepted else {
            continue;
        };
        if !account.is_unsettled() {
            continue;
        }
        if account.is_sent() && account.left().is_empty() {
            violations.push(Violation {
                invariant: NAME,
                text: format!(
                    "{message} was accepted, has no end, and all its copies were deleted"
                ),
                evidence: std::iter::once(accepted)
                    .chain(account.deletions.iter().map(|deletion| deletion.at))
                    .collect(),
            });
        } else if !account.is_sent() && accepted < quiet {
            violations.push(Violation {
                invariant: NAME,
                text: format!("{message} was accepted and no queue ever got it"),
                evidence: vec![accepted],
            });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};

    /// Where jobs that nobody can weigh come to rest.
    fn broken(story: &Story) -> Vec<String> {
        let mut manifest = MANIFEST.clone();
        manifest.resting = vec!["weighing".into()];
        let entries = story.entries();
        let evidence = Evidence {
            manifest: &manifest,
            entries: &entries,
        };
        let violations = check(evidence, &Ledger::of(evidence));
        violations
            .into_iter()
            .map(|violation| violation.text)
            .collect()
    }

    #[test]
    fn what_rests_where_a_person_sees_it_is_not_lost() {
        let story = Story::new().accepted("M1").passed("weighing", "M1").quiet();
        assert!(broken(&story).is_empty());
        let sent = Story::new()
            .accepted("M1")
            .sent("M1", "copy")
            .delivered("M1", "copy")
            .passed("weighing", "M1")
            .deleted("M1", "copy")
            .quiet();
        assert!(broken(&sent).is_empty());
    }

    #[test]
    fn the_rest_of_one_message_is_no_rest_of_another() {
        let story = Story::new()
            .accepted("M1")
            .accepted("M2")
            .passed("weighing", "M2")
            .quiet();
        assert_eq!(broken(&story), ["M1 was accepted and no queue ever got it"]);
    }

    #[test]
    fn a_rest_belongs_to_its_series() {
        let story = Story::new()
            .accepted("M1")
            .passed("weighing", "M1")
            .passed("tried-again", "M1")
            .quiet();
        assert_eq!(broken(&story), ["M1 was accepted and no queue ever got it"]);
        let again = Story::new()
            .accepted("M1")
            .passed("weighing", "M1")
            .passed("tried-again", "M1")
            .passed("weighing", "M1")
            .quiet();
        assert!(broken(&again).is_empty());
    }

    #[test]
    fn where_no_stage_rests_nothing_is_excused() {
        let story = Story::new().accepted("M1").passed("weighing", "M1").quiet();
        assert_eq!(story.broken_rules(), [NAME]);
    }
}
