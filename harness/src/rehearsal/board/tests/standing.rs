//! Processes that never go on, that are expected to die, and that are cut off.

use super::*;
use crate::judge::{Evidence, judge};
use crate::rehearsal::ExpectedDeath;

#[tokio::test]
async fn one_that_stands_still_for_good_keeps_nothing_from_being_quiet() {
    let bench = Bench::new().with(&["M1"]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    bench.board.set_life(&bench.packer, Life::Stopped);
    assert!(!bench.reasons(&[]).is_empty());
    let orphans = bench.board.leave_standing(&bench.packer);
    assert_eq!(orphans.len(), 1);
    assert_eq!(bench.reasons(&[]), Vec::<String>::new());
    assert!(bench.board.is_all_left_standing(&bench.packer.role));
    // What its open receive is handed after that is nobody's either.
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    assert_eq!(bench.reasons(&[]), Vec::<String>::new());
}

#[tokio::test]
async fn one_that_is_merely_stopped_is_waited_for() {
    let bench = Bench::new().with(&["M1"]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    bench.board.set_life(&bench.packer, Life::Stopped);
    assert!(!bench.board.is_all_left_standing(&bench.packer.role));
    assert!(!bench.reasons(&[]).is_empty());
}

#[test]
fn a_death_that_was_to_be_expected_is_announced_and_no_other() {
    let bench = Bench::new();
    let dies = || bench.board.exited(&bench.packer, Some(1), None, None);
    let expect = |instance| {
        bench.board.expect_death(ExpectedDeath {
            role: bench.packer.role.clone(),
            instance,
        });
    };
    expect(Some(2));
    assert_eq!(dies(), DeathCause::Unexpected);
    expect(Some(1));
    assert_eq!(dies(), DeathCause::Announced);
    let other = Incarnation {
        role: "shop".into(),
        ..bench.packer.clone()
    };
    expect(None);
    let cause = bench.board.exited(&other, Some(1), None, None);
    assert_eq!(cause, DeathCause::Unexpected);
    let ordered = Some(DeathCause::Ordered);
    let cause = bench.board.exited(&bench.packer, None, None, ordered);
    assert_eq!(cause, DeathCause::Ordered);
}

fn cuts_in_doubt(bench: &Bench) -> usize {
    let entries = bench.entries();
    let judgement = judge(Evidence {
        manifest: bench.board.manifest(),
        entries: &entries,
    });
    let of_cut = judgement.unproven.iter();
    of_cut
        .filter(|finding| finding.text.contains("is cut off from everything"))
        .count()
}

#[test]
fn a_cut_must_have_been_seen() {
    let bench = Bench::new();
    let fault = bench.board.begin_cut(&bench.packer);
    assert_eq!(cuts_in_doubt(&bench), 1);
    bench.board.cut(fault, &bench.packer);
    assert_eq!(cuts_in_doubt(&bench), 0);
    let other = bench.board.begin_cut(&bench.packer);
    bench
        .board
        .miss(other, "the engine tells of a network".to_owned());
    assert_eq!(cuts_in_doubt(&bench), 1);
    let entries = bench.entries();
    let told = |event: &Event| matches!(event, Event::CutOff { .. });
    assert_eq!(entries.iter().filter(|one| told(&one.event)).count(), 1);
}
