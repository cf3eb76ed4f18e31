//! Several faults at one passage: they decide together, and act in one order.

use std::time::Duration;

use super::*;
use crate::fault::Until;

fn bench(faults: &[(Effect, &str)]) -> Bench {
    let bench = Bench::new().with(&["M1", "M2"]);
    for (effect, stage) in faults {
        bench.board.arm(Fault {
            effect: effect.clone(),
            point: Point::stage(*stage),
            whose: Whose::These(vec!["M1".into()]),
            times: Times::First(1),
            may: false,
        });
    }
    bench
}

/// What became of each fault, by its number.
fn ends(bench: &Bench) -> Vec<(u64, bool)> {
    bench
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Landed { fault, .. } => Some((fault.0, true)),
            Event::Missed { fault, .. } => Some((fault.0, false)),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn what_is_made_visible_is_so_before_its_receiver_is_held() {
    let bench = bench(&[
        (Effect::Hold(None), "weighing"),
        (Effect::Reappear, "weighing"),
    ]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let mut before = bench.board.before(bench.announcement("weighing"));
    assert!(waits(&mut before).await);
    assert_eq!(bench.expired(), BTreeSet::from(["receipt-M1".to_owned()]));
    assert_eq!(ends(&bench), [(2, true), (1, true)]);
}

#[tokio::test]
async fn only_what_the_passer_has_in_hand_becomes_visible() {
    let bench = bench(&[(Effect::Reappear, "weighing")]);
    let other = packer(7);
    bench.board.register(&other, &Arc::default());
    let _ = bench.receives(&other, &["M1"]).await;
    let again = Arc::new(sqs(json!({ "Messages": [{
        "MessageId": "copy-2", "ReceiptHandle": "receipt-2",
        "Body": json!({ "order": "job-M1" }).to_string(),
    }] })));
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    let _ = bench.board.after(call, again, true).await;
    let _ = bench.before(&bench.announcement("weighing")).await;
    assert_eq!(bench.expired(), BTreeSet::from(["receipt-2".to_owned()]));
}

#[tokio::test]
async fn a_process_that_is_killed_at_a_stage_is_not_held_there() {
    let kill = Effect::Signal(Signal::SIGKILL);
    let bench = bench(&[(Effect::Hold(None), "weighing"), (kill, "weighing")]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let before = bench.before(&bench.announcement("weighing")).await;
    assert!(matches!(before, Before::Discard(_)));
    assert_eq!(ends(&bench), [(2, true), (1, false)]);
    assert!(!bench.board.has_faults_at_work());
}

#[tokio::test]
async fn a_kill_comes_after_every_other_signal() {
    let signal = |signal| (Effect::Signal(signal), "weighing");
    let bench = bench(&[
        signal(Signal::SIGKILL),
        signal(Signal::SIGSTOP),
        signal(Signal::SIGUSR1),
    ]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let _ = bench.before(&bench.announcement("weighing")).await;
    assert_eq!(
        bench.asked(),
        [Signal::SIGUSR1, Signal::SIGSTOP, Signal::SIGKILL]
    );
}

#[tokio::test]
async fn a_call_is_held_first_and_lost_then() {
    let bench = bench(&[
        (Effect::LoseRequest, "handing-over"),
        (Effect::Hold(None), "handing-over"),
    ]);
    let call = bench.post(&json!({ "order": "job-M1" }));
    let mut before = bench.board.before(call);
    assert!(waits(&mut before).await);
    assert_eq!(ends(&bench), [(2, true)]);
    bench.board.let_go(&"packer".into());
    assert!(matches!(before.await, Before::Discard(_)));
    assert_eq!(ends(&bench), [(2, true), (1, true)]);
}

#[tokio::test]
async fn a_caller_that_leaves_while_it_is_held_makes_the_other_fault_miss() {
    let bench = bench(&[
        (Effect::LoseRequest, "handing-over"),
        (Effect::Hold(None), "handing-over"),
    ]);
    let mut before = bench
        .board
        .before(bench.post(&json!({ "order": "job-M1" })));
    assert!(waits(&mut before).await);
    drop(before);
    assert_eq!(ends(&bench), [(2, true), (1, false)]);
    assert!(!bench.board.has_faults_at_work());
}

#[tokio::test]
async fn only_one_thing_becomes_of_a_call() {
    let answer = |code: &str| (Effect::Answer(code.to_owned()), "handing-over");
    let bench = bench(&[
        answer("503"),
        (Effect::LoseRequest, "handing-over"),
        answer("503"),
    ]);
    let before = bench
        .before(&bench.post(&json!({ "order": "job-M1" })))
        .await;
    assert!(matches!(before, Before::Answer(Reply::Http(reply)) if reply.status == 503));
    assert_eq!(ends(&bench), [(1, true), (2, false), (3, true)]);
}

#[tokio::test]
async fn barriers_of_one_passage_wait_for_the_same_time() {
    let until = |message: &str| {
        let (message, stage) = (message.into(), "tried".into());
        (
            Effect::Hold(Some(Until {
                message,
                stage,
                ever: false,
            })),
            "weighing",
        )
    };
    let bench = bench(&[until("M1"), until("M2")]);
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let mut before = bench.board.before(bench.announcement("weighing"));
    // In the order in which nobody waits for them.
    for job in ["job-M2", "job-M1"] {
        assert!(waits(&mut before).await);
        let _ = bench.whole(&bench.insert("tries", job)).await;
    }
    assert!(matches!(before.await, Before::Forward));
}

#[tokio::test]
async fn a_delay_at_a_receive_comes_before_its_reply() {
    let bench = bench(&[(Effect::Delay(Duration::from_millis(20)), "opened")]);
    let call = bench.receive(&bench.packer);
    let begun = std::time::Instant::now();
    assert!(matches!(bench.before(&call).await, Before::Forward));
    assert!(ends(&bench).is_empty());
    assert!(matches!(
        bench.board.after(call, delivering(&["M1"]), true).await,
        After::Deliver
    ));
    assert!(begun.elapsed() >= Duration::from_millis(20));
    assert_eq!(ends(&bench), [(1, true)]);
}
