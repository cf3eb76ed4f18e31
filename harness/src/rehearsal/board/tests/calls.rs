//! Faults that name a call by its shape.

use super::*;
use crate::shape::Wanted;
use crate::tap::{Discard, Side};

fn named(side: Side, wanted: &str, message: &str) -> Fault {
    Fault {
        effect: Effect::Signal(Signal::SIGKILL),
        point: Point::Call {
            role: "packer".into(),
            instance: None,
            side,
            wanted: Wanted::parse(wanted).unwrap(),
        },
        whose: Whose::These(vec![message.into()]),
        times: Times::First(1),
        may: false,
    }
}

#[tokio::test]
async fn a_call_is_struck_before_its_dependency_gets_it() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(named(Side::Before, "insert into boxes", "M1"));
    let other = bench.insert("crates", "job-M1");
    assert!(matches!(bench.before(&other).await, Before::Forward));
    let call = bench.insert("boxes", "job-M1");
    let decided = bench.before(&call).await;
    assert!(matches!(decided, Before::Discard(Discard::Close)));
    assert_eq!(bench.asked(), [Signal::SIGKILL]);
}

#[tokio::test]
async fn a_call_is_struck_once_it_took_effect() {
    let bench = Bench::new().with(&["M1"]);
    bench.board.arm(named(Side::After, "POST /parcels", "M1"));
    let call = bench.post(&json!({ "order": "job-M1" }));
    let decided = bench.whole(&call).await;
    assert!(matches!(decided, After::Discard(Discard::Close)));
    assert_eq!(bench.asked(), [Signal::SIGKILL]);
}

#[tokio::test]
async fn a_receive_is_struck_when_it_hands_the_message_over() {
    let bench = Bench::new().with(&["M1", "M2"]);
    bench
        .board
        .arm(named(Side::After, "ReceiveMessage orders", "M2"));
    let by = packer(1);
    assert!(matches!(bench.receives(&by, &["M1"]).await, After::Deliver));
    let decided = bench.receives(&by, &["M2"]).await;
    assert!(matches!(decided, After::Discard(_)));
}

#[tokio::test]
async fn a_call_that_was_never_made_is_told_with_the_nearest() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(named(Side::Before, "insert into boxs", "M1"));
    bench.whole(&bench.insert("boxes", "job-M1")).await;
    bench.board.note_unmet();
    let told = bench
        .entries()
        .into_iter()
        .find_map(|entry| match entry.event {
            Event::Missed { reason, .. } => Some(reason),
            _ => None,
        });
    assert_eq!(
        told.unwrap(),
        "the packer made no such call; nearest: \"insert into boxes values (?)\""
    );
}

#[tokio::test]
async fn a_fault_that_may_land_is_not_missed() {
    let bench = Bench::new().with(&["M1"]);
    let mut fault = named(Side::Before, "insert into boxes", "M1");
    fault.may = true;
    bench.board.arm(fault);
    bench.board.note_unmet();
    assert!(bench.fault_entries().is_empty());
}

#[tokio::test]
async fn every_call_is_kept_with_its_message_and_whether_it_lasts() {
    let bench = Bench::new();
    bench.board.begin_survey();
    let call = bench.insert("boxes", "job-M1");
    bench.whole(&call).await;
    // Its job becomes known only afterwards.
    let bench = bench.with(&["M1"]);
    let survey = bench.board.survey();
    let [site] = survey.as_slice() else {
        panic!("{survey:?}")
    };
    assert_eq!(site.shape.to_string(), "insert into boxes values (?)");
    assert_eq!(site.messages(), ["M1".into()]);
    assert!(site.durable && site.after.is_some());
}
