//! No copy of a job that has its end lies in a dead-letter queue: whoever looks there finds
//! finished work, and may do it again.
//!
//! A queue's attributes tell how many copies it holds, not which. That some of them are of
//! finished jobs is certain where there are more of them than copies that may be of others.

use super::super::totals::last_counted;
use crate::ids::MessageName;
use crate::judge::{Account, Evidence, Ledger, Violation};
use crate::manifest::built_in_totals::DEAD_LETTERS;

pub(super) const NAME: &str = "finished work is no dead letter";

/// So many are named.
const NAMED: usize = 5;

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    let figures = last_counted(evidence);
    let dead = figures.get(DEAD_LETTERS).and_then(|of| of.get("claim"));
    let Some((dead, counted)) = dead.and_then(|of| of.get("")).copied() else {
        return Vec::new();
    };
    let finished: Vec<(&MessageName, &Account)> = ledger
        .accounts
        .iter()
        .filter(|(_, account)| is_finished(account) && !account.left().is_empty())
        .collect();
    let of_finished: usize = finished
        .iter()
        .map(|(_, account)| account.left().len())
        .sum();
    let of_finished = i64::try_from(of_finished).unwrap_or(i64::MAX);
    let (_, copies) = ledger.copies_left();
    let certain = dead - (copies - of_finished);
    if certain <= 0 {
        return Vec::new();
    }
    let names: Vec<&str> = finished
        .iter()
        .map(|(message, _)| message.as_str())
        .collect();
    let more = names.len().saturating_sub(NAMED);
    let mut shown = names[..names.len().min(NAMED)].join(", ");
    if more > 0 {
        shown = format!("{shown} and {more} more");
    }
    let text = if certain == of_finished {
        format!("{shown} ended, and a dead-letter queue holds a copy")
    } else {
        format!("a dead-letter queue holds {certain} copies of jobs that ended: some of {shown}")
    };
    let ends = finished
        .iter()
        .filter_map(|(_, account)| account.ends.last());
    vec![Violation {
        invariant: NAME,
        text,
        evidence: ends
            .map(|(at, _)| *at)
            .take(NAMED)
            .chain([counted])
            .collect(),
    }]
}

fn is_finished(account: &Account) -> bool {
    let series = account.series.len().saturating_sub(1);
    !account.ends_in(series).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{MANIFEST, Story};

    fn told(story: &Story) -> Vec<String> {
        let entries = story.entries();
        let evidence = Evidence {
            manifest: &MANIFEST,
            entries: &entries,
        };
        let found = check(evidence, &Ledger::of(evidence)).into_iter();
        found.map(|violation| violation.text).collect()
    }

    fn ended_and_kept(message: &str) -> Story {
        Story::new()
            .accepted(message)
            .sent(message, "copy")
            .delivered(message, "copy")
            .passed("tried", message)
            .wrote(message)
            .passed("shipped", message)
    }

    #[test]
    fn a_copy_of_a_finished_job_among_the_dead_is_named() {
        let story = ended_and_kept("M1").quiet();
        let dead = story.clone().counted(DEAD_LETTERS, None, "claim", 1);
        assert_eq!(
            told(&dead),
            ["M1 ended, and a dead-letter queue holds a copy"]
        );
        // It lies in its own queue still, which is another matter.
        assert!(told(&story.counted(DEAD_LETTERS, None, "claim", 0)).is_empty());
    }

    #[test]
    fn dead_letters_that_may_be_another_s_tell_nothing() {
        let story = ended_and_kept("M1")
            .accepted("M2")
            .sent("M2", "other")
            .delivered("M2", "other")
            .quiet();
        assert!(told(&story.clone().counted(DEAD_LETTERS, None, "claim", 1)).is_empty());
        let both = told(&story.counted(DEAD_LETTERS, None, "claim", 2));
        assert_eq!(both, ["M1 ended, and a dead-letter queue holds a copy"]);
    }

    #[test]
    fn it_is_a_warning_and_breaks_no_rule() {
        let story = ended_and_kept("M1")
            .quiet()
            .counted(DEAD_LETTERS, None, "claim", 1);
        let judged = story.judged();
        assert!(!judged.violations.iter().any(|one| one.invariant == NAME));
        assert!(judged.warnings.iter().any(|one| one.invariant == NAME));
    }
}
