//! A message is deleted only after a terminal state of its job is durable, or after a
//! queue took another copy that carries the job on.

use crate::ids::MessageName;
use crate::judge::account::{Account, Deletion};
use crate::judge::hops::Hops;
use crate::judge::{Evidence, Ledger, Violation};

pub(super) const NAME: &str = "deleted only after a durable end";

pub(super) fn check(evidence: Evidence<'_>, ledger: &Ledger) -> Vec<Violation> {
    // Where no end is known, none is missing.
    if evidence.manifest.terminal.is_empty() {
        return Vec::new();
    }
    let hops = Hops::of(evidence, ledger);
    let unfounded = |(message, account): (&MessageName, &Account)| -> Vec<Violation> {
        let mut violations = Vec::new();
        for deletion in &account.deletions {
            if has_ended(account, deletion) || hops.carried_on(message, deletion) {
                continue;
            }
            let text = if hops.carried_on_late(message, deletion) {
                "a copy of {} was deleted before the copy that carries its job on was in any queue"
            } else {
                "a copy of {} was deleted before any end of its job was durable"
            };
            violations.push(Violation {
                invariant: NAME,
                text: text.replace("{}", message.as_str()),
                evidence: vec![deletion.began, deletion.at],
            });
        }
        violations
    };
    // Where the order of the two lost a message, that one tells it: the others came
    // through by luck.
    let lost = ledger.accounts.iter().any(|(message, account)| {
        account.is_unsettled()
            && account.left().is_empty()
            && account.deletions.iter().any(|deletion| {
                !has_ended(account, deletion) && !hops.carried_on(message, deletion)
            })
    });
    let by_luck = |message: &MessageName, account: &Account| {
        !account.is_unsettled()
            && account
                .deletions
                .iter()
                .all(|one| has_ended(account, one) || hops.carried_on_late(message, one))
    };
    ledger
        .accounts
        .iter()
        .filter(|(message, account)| !(lost && by_luck(message, account)))
        .flat_map(unfounded)
        .collect()
}

/// What ends and what deletes in one transaction is done at once. A copy belongs to the series it was sent in: an end of an earlier one does not allow
/// its deletion.
fn has_ended(account: &Account, deletion: &Deletion) -> bool {
    if account.ended_at.contains(&deletion.call) {
        return true;
    }
    let copy = deletion.copy.as_ref();
    let sent = copy.and_then(|copy| account.sent.get(copy));
    let series = account.series_at(sent.copied().unwrap_or_default());
    account
        .ends
        .iter()
        .any(|(seq, _)| *seq < deletion.began && account.series_at(*seq) >= series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::story::{Story, packer};

    /// M1 is received from `orders`; nothing has become of it.
    fn received() -> Story {
        Story::new()
            .accepted("M1")
            .sent("M1", "first")
            .delivered("M1", "first")
    }

    fn told(story: &Story) -> Vec<String> {
        let judged = story.judged();
        let violations = judged.violations.into_iter();
        let of_rule = violations.filter(|violation| violation.invariant == NAME);
        of_rule.map(|violation| violation.text).collect()
    }

    fn right(story: &Story) {
        assert_eq!(told(story), Vec::<String>::new());
    }

    fn finished(story: Story, copy: &str) -> Story {
        story
            .passed("tried", "M1")
            .wrote("M1")
            .passed("shipped", "M1")
            .deleted("M1", copy)
    }

    #[test]
    fn a_relay_that_sends_before_it_deletes_is_right() {
        let story = received()
            .sent_by(&packer(1), "second", "M1", "onward")
            .deleted("M1", "first")
            .delivered_from("second", "M1", "onward");
        right(&finished(story.clone(), "onward"));
        // The job is in the second queue still.
        assert!(story.quiet().broken_rules().is_empty());
    }

    #[test]
    fn an_end_in_the_transaction_that_deletes_is_no_later_end() {
        let story = received().called(&packer(1), "EXEC orders");
        let call = story.last_call();
        let story = story.deleted_by(call, "M1", "first");
        assert_eq!(told(&story).len(), 1);
        let ended = crate::history::Event::Stage {
            stage: "shipped".into(),
            incarnation: packer(1),
            call,
            message: Some("M1".into()),
            captured: std::collections::BTreeMap::new(),
        };
        right(&story.then(ended));
    }

    #[test]
    fn a_relay_that_deletes_first_is_wrong_also_where_nothing_was_lost() {
        let story = received()
            .deleted("M1", "first")
            .sent_by(&packer(1), "second", "M1", "onward")
            .delivered_from("second", "M1", "onward");
        let told = told(&finished(story, "onward"));
        assert_eq!(
            told,
            ["a copy of M1 was deleted before the copy that carries its job on was in any queue"]
        );
    }

    #[test]
    fn the_message_that_was_lost_tells_it_for_those_that_came_through() {
        let through = received()
            .deleted("M1", "first")
            .sent_by(&packer(1), "second", "M1", "onward")
            .delivered_from("second", "M1", "onward");
        let story = finished(through, "onward")
            .accepted("M2")
            .sent("M2", "other")
            .delivered("M2", "other")
            .deleted("M2", "other")
            .quiet();
        assert_eq!(
            told(&story),
            ["a copy of M2 was deleted before any end of its job was durable"]
        );
    }

    #[test]
    fn a_retry_by_a_new_copy_is_right_as_often_as_it_takes() {
        let mut story = received();
        for (copy, next) in [("first", "again"), ("again", "once-more")] {
            story = story
                .sent_by(&packer(1), "orders", "M1", next)
                .deleted("M1", copy)
                .delivered("M1", next);
        }
        right(&finished(story, "once-more"));
    }

    #[test]
    fn the_last_copy_of_a_chain_needs_an_end() {
        let story = received()
            .sent_by(&packer(1), "orders", "M1", "again")
            .deleted("M1", "first")
            .delivered("M1", "again")
            .deleted("M1", "again")
            .quiet();
        assert_eq!(told(&story).len(), 1);
        assert!(story.broken_rules().contains(&"nothing is lost"));
    }

    #[test]
    fn what_a_publisher_sends_twice_carries_nothing_on() {
        let publisher = crate::ids::Incarnation {
            role: "shop".into(),
            instance: 1,
            start: 1,
        };
        let story = received()
            .sent_by(&publisher, "orders", "M1", "twin")
            .deleted("M1", "first");
        assert_eq!(told(&story).len(), 1);
    }

    #[test]
    fn what_was_sent_before_the_copy_was_received_carries_nothing_on() {
        let story = Story::new()
            .accepted("M1")
            .sent("M1", "first")
            .sent_by(&packer(1), "second", "M1", "early")
            .delivered("M1", "first")
            .deleted("M1", "first");
        assert_eq!(told(&story).len(), 1);
    }

    #[test]
    fn an_operator_who_redrives_by_hand_loses_nothing() {
        let story = received()
            .delivered_from("orders-dead", "M1", "first")
            .sent("M1", "redriven")
            .deleted("M1", "first")
            .delivered("M1", "redriven");
        right(&finished(story, "redriven"));
    }
}
