//! Each ground of a verdict, beside a history without it.

use super::Verdict;
use crate::history::{DeathCause, Event};
use crate::ids::FaultId;
use crate::judge::Finding;
use crate::judge::story::{Story, packer};

fn good() -> Story {
    Story::new().shipped("M1").quiet()
}

fn texts(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|found| found.text.as_str()).collect()
}

fn verdict(story: &Story) -> Verdict {
    story.judged().verdict
}

fn trouble(story: Story) -> Story {
    story.then(Event::Trouble {
        reason: "the disk is full".to_owned(),
    })
}

fn unlanded(story: Story) -> Story {
    story.armed(1, 1)
}

fn killed(story: Story) -> Story {
    story.exited(DeathCause::Unexpected, &["M1"])
}

#[test]
fn a_history_without_blemish_passes() {
    let judgement = good().judged();
    assert_eq!(judgement.verdict, Verdict::Passed, "{judgement:?}");
}

#[test]
fn a_death_that_nothing_ordered_or_announced_is_a_violation() {
    let story = killed(good());
    assert_eq!(verdict(&story), Verdict::Failed);
    assert_eq!(story.broken_rules(), ["no process dies unasked"]);
    for cause in [DeathCause::Ordered, DeathCause::Shutdown] {
        assert_eq!(verdict(&good().exited(cause, &[])), Verdict::Passed);
    }
}

#[test]
fn a_clean_exit_that_nothing_asked_for_is_a_death_too() {
    let story = good().then(Event::Exited {
        incarnation: packer(1),
        code: Some(0),
        signal: None,
        cause: DeathCause::Unexpected,
        in_hand: Vec::new(),
    });
    let judgement = story.judged();
    assert_eq!(judgement.verdict, Verdict::Failed);
    assert!(judgement.violations[0].text.contains("with exit code 0"));
}

#[test]
fn a_claim_that_differs_from_what_was_witnessed_is_a_violation() {
    let agrees = good()
        .counted("tries", None, "witness", 1)
        .counted("tries", None, "claim", 1);
    assert_eq!(verdict(&agrees), Verdict::Passed);
    let differs = good()
        .counted("tries", None, "witness", 1)
        .counted("tries", None, "claim", 2);
    assert_eq!(verdict(&differs), Verdict::Failed);
    let text = &differs.judged().violations[0].text;
    assert_eq!(text, "tries: witnessed 1, the system says 2");
}

#[test]
fn a_label_that_only_one_side_knows_is_a_contradiction() {
    for (source, other) in [("witness", "claim"), ("claim", "witness")] {
        let story = good()
            .counted("put aside", Some("limit"), "witness", 1)
            .counted("put aside", Some("limit"), "claim", 1)
            .counted("put aside", Some("late"), source, 1);
        assert_eq!(verdict(&story), Verdict::Failed, "{source} without {other}");
    }
}

#[test]
fn only_the_latest_snapshot_is_held_against_the_claim() {
    let story = good()
        .counted("tries", None, "witness", 1)
        .counted("tries", None, "claim", 2)
        .quiet()
        .counted("tries", None, "witness", 2)
        .counted("tries", None, "claim", 2);
    assert_eq!(verdict(&story), Verdict::Passed);
}

#[test]
fn a_total_with_one_source_contradicts_nothing() {
    let story = good().counted("left", None, "claim", 3);
    assert_eq!(verdict(&story), Verdict::Passed);
}

#[test]
fn a_fault_that_never_landed_leaves_the_scenario_unproven() {
    assert_eq!(verdict(&unlanded(good())), Verdict::Unproven);
    assert_eq!(verdict(&unlanded(good()).landed(1)), Verdict::Passed);
}

#[test]
fn a_fault_must_land_as_often_as_it_was_to() {
    let story = good().armed(1, 3).landed(1).landed(1);
    let judgement = story.judged();
    assert_eq!(judgement.verdict, Verdict::Unproven);
    assert_eq!(
        texts(&judgement.unproven),
        ["`fault 1` landed 2 of 3 times"]
    );
    assert_eq!(verdict(&story.landed(1)), Verdict::Passed);
}

#[test]
fn a_fault_that_missed_once_is_unproven_although_it_landed_often_enough() {
    let story = unlanded(good()).landed(1).then(Event::Missed {
        fault: FaultId(1),
        reason: "it was gone already".to_owned(),
    });
    let judgement = story.judged();
    assert_eq!(judgement.verdict, Verdict::Unproven);
    assert!(judgement.unproven[0].text.contains("gone already"));
}

#[test]
fn a_fault_whose_trigger_was_met_without_a_witnessed_end_is_unproven() {
    let story = unlanded(good()).triggered(1).landed(1);
    assert_eq!(verdict(&story), Verdict::Passed);
    assert_eq!(verdict(&story.triggered(1)), Verdict::Unproven);
}

#[test]
fn an_announced_death_must_be_a_death_with_that_message_in_hand() {
    let announced = good()
        .declared("M2", Some("packer"))
        .then(Event::Submitting {
            message: "M2".into(),
        });
    assert_eq!(verdict(&announced), Verdict::Unproven);
    let of_another = announced.clone().exited(DeathCause::Announced, &["M1"]);
    assert_eq!(verdict(&of_another), Verdict::Unproven);
    let ordered = announced.clone().exited(DeathCause::Ordered, &["M2"]);
    assert_eq!(verdict(&ordered), Verdict::Unproven);
    let real = announced.exited(DeathCause::Announced, &["M2"]);
    assert_eq!(verdict(&real), Verdict::Passed);
}

#[test]
fn a_history_without_a_call_of_the_system_is_unproven() {
    let story = submitted(Story::new().declared("M1", None)).quiet();
    let judgement = story.judged();
    assert_eq!(judgement.verdict, Verdict::Unproven);
    assert_eq!(
        texts(&judgement.unproven),
        ["no call of the system was witnessed"]
    );
    let called = story.called(&packer(1), "ReceiveMessage orders");
    assert_eq!(verdict(&called), Verdict::Passed);
}

#[test]
fn a_message_that_never_came_in_proves_nothing() {
    let nobody = Story::new()
        .declared("M1", None)
        .called(&packer(1), "ReceiveMessage orders");
    assert_eq!(
        texts(&nobody.judged().unproven),
        ["no message was submitted"]
    );
    let one = submitted(nobody.declared("M2", None)).quiet();
    assert_eq!(texts(&one.judged().unproven), ["M2 was never submitted"]);
    assert_eq!(verdict(&one), Verdict::Unproven);
}

fn submitted(story: Story) -> Story {
    story.then(Event::Submitting {
        message: "M1".into(),
    })
}

#[test]
fn doubt_and_trouble_are_errors() {
    assert_eq!(verdict(&trouble(good())), Verdict::Error);
    let doubt = good().then(Event::Doubt {
        reason: "whose message was it".to_owned(),
    });
    assert_eq!(verdict(&doubt), Verdict::Error);
    assert_eq!(texts(&doubt.judged().errors), ["whose message was it"]);
    assert_eq!(texts(&doubt.judged().doubts), ["whose message was it"]);
    assert!(trouble(good()).judged().doubts.is_empty());
}

#[test]
fn a_broken_promise_outweighs_an_error_and_an_error_what_is_unproven() {
    assert_eq!(verdict(&unlanded(trouble(killed(good())))), Verdict::Failed);
    assert_eq!(verdict(&unlanded(trouble(good()))), Verdict::Error);
    assert_eq!(verdict(&unlanded(killed(good()))), Verdict::Failed);
    let all = unlanded(trouble(killed(good()))).judged();
    assert!(!all.violations.is_empty() && !all.errors.is_empty() && !all.unproven.is_empty());
}
