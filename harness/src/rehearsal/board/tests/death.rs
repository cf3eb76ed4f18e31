//! Kills, stops and other signals at both boundaries.

use std::time::Duration;

use super::*;
use crate::rehearsal::board::faults::Place;
use crate::tap::{Discard, Gate, Side};

#[tokio::test]
async fn a_kill_before_the_call_holds_it_until_the_process_is_gone_and_drops_it() {
    let bench = Bench::new().with(&["M1"]);
    bench.board.arm(fault(
        Signal::SIGKILL,
        "handing-over",
        Some("M1"),
        Times::Every,
    ));
    bench.hold_the_actor();
    let call = bench.post(&json!({ "order": "job-M1" }));
    let mut held = bench.board.before(Arc::clone(&call));
    assert!(waits(&mut held).await, "held while the process lives");
    assert!(
        bench
            .reasons(&[])
            .iter()
            .any(|reason| reason.starts_with("held: POST /parcels"))
    );
    bench.let_the_actor_go();
    assert!(matches!(held.await, Before::Discard(Discard::Close)));
    assert_eq!(
        bench.fault_entries(),
        ["stage", "triggered", "exited", "landed", "injected"]
    );
}

#[tokio::test]
async fn a_kill_after_the_effect_counts_the_passage_and_drops_the_reply() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", Some("M1"), Times::First(1)));
    let call = bench.insert("tries", "job-M1");
    assert!(matches!(bench.whole(&call).await, After::Discard(_)));
    assert_eq!(bench.passages(), [passed("tried", Some("M1"))]);
    let dropped = bench.entries().into_iter().any(|entry| {
        matches!(
            entry.event,
            Event::Injected {
                side: Side::After,
                fault: Some(_),
                ..
            }
        )
    });
    assert!(dropped);
}

#[tokio::test]
async fn a_kill_waits_for_its_message_and_its_passage() {
    let bench = Bench::new().with(&["M1", "M2"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", Some("M2"), Times::Nth(2)));
    for (id, alive) in [
        ("job-M1", true),
        ("job-M2", true),
        ("job-M1", true),
        ("job-M2", false),
    ] {
        let call = bench.insert("tries", id);
        assert_eq!(
            matches!(bench.whole(&call).await, After::Deliver),
            alive,
            "{id}"
        );
    }
    assert_eq!(bench.asked(), [Signal::SIGKILL]);
}

#[tokio::test]
async fn an_aborted_transaction_passes_nothing() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    let call = bench.insert("tries", "job-M1");
    let _ = bench.before(&call).await;
    let rolled_back = Arc::new(Reply::Postgres(PgReply {
        tags: vec!["ROLLBACK".to_owned()],
        error: None,
        status: TransactionStatus::Idle,
        durable: Vec::new(),
        effects: Vec::new(),
    }));
    let after = bench.board.after(call, rolled_back, true).await;
    assert!(matches!(after, After::Deliver));
    assert_eq!(bench.passages(), []);
}

#[tokio::test]
async fn a_process_that_is_gone_already_makes_the_fault_miss() {
    let bench = Bench::new().with(&["M1"]);
    *bench.hands.fails.lock().unwrap() = Some("it was gone already".to_owned());
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    let call = bench.insert("tries", "job-M1");
    let _ = bench.whole(&call).await;
    assert_eq!(
        bench.fault_entries(),
        ["stage", "triggered", "missed", "injected"]
    );
}

#[tokio::test]
async fn a_kill_goes_on_when_the_dying_caller_makes_the_tap_drop_the_held_call() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    bench.hold_the_actor();
    let call = bench.insert("tries", "job-M1");
    let _ = bench.before(&call).await;
    let mut held = bench.board.after(Arc::clone(&call), success(&call), true);
    assert!(waits(&mut held).await);
    drop(held);
    bench.board.abandoned(&call, Side::After);
    bench.let_the_actor_go();
    bench
        .board
        .until(|| bench.fault_entries().contains(&"landed").then_some(()))
        .await;
    assert_eq!(
        bench.reasons(&[]),
        Vec::<String>::new(),
        "nothing is held any more"
    );
}

#[tokio::test]
async fn the_gate_is_shut_before_the_trigger_of_a_kill_stands_in_the_history() {
    let bench = Bench::new().with(&["M1"]);
    let gate = Arc::new(Gate::new());
    bench.board.register(&bench.packer, &gate);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    bench.hold_the_actor();
    let call = bench.insert("tries", "job-M1");
    let _ = bench.before(&call).await;
    assert!(!gate.is_closed());
    let mut held = bench.board.after(Arc::clone(&call), success(&call), true);
    assert!(waits(&mut held).await);
    assert!(bench.fault_entries().contains(&"triggered"));
    assert!(gate.is_closed(), "although nobody was signalled yet");
    let later = bench.insert("tries", "job-M1");
    assert!(matches!(bench.before(&later).await, Before::Discard(_)));
    bench.let_the_actor_go();
    let _ = held.await;
}

#[tokio::test]
async fn other_signals_leave_the_gate_open() {
    let bench = Bench::new().with(&["M1"]);
    let gate = Arc::new(Gate::new());
    bench.board.register(&bench.packer, &gate);
    bench
        .board
        .arm(fault(Signal::SIGTERM, "tried", None, Times::Every));
    let call = bench.insert("tries", "job-M1");
    let _ = bench.whole(&call).await;
    assert_eq!(bench.asked(), [Signal::SIGTERM]);
    assert!(!gate.is_closed());
}

#[tokio::test]
async fn a_kill_that_was_decided_comes_to_pass_whoever_is_dropped_before_it() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    let call = bench.insert("tries", "job-M1");
    let stage = "tried".into();
    drop(
        bench
            .board
            .trigger(&call, Place::Stage(&stage), None, Some(&"M1".into()), None),
    );
    bench
        .board
        .until(|| bench.fault_entries().contains(&"landed").then_some(()))
        .await;
    assert_eq!(bench.fault_entries(), ["triggered", "exited", "landed"]);
    assert_eq!(bench.asked(), [Signal::SIGKILL]);
}

#[tokio::test]
async fn a_stopped_process_s_call_is_held_until_it_goes_on() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGSTOP, "tried", None, Times::First(1)));
    let call = bench.insert("tries", "job-M1");
    let _ = bench.before(&call).await;
    let mut held = bench.board.after(Arc::clone(&call), success(&call), true);
    assert!(waits(&mut held).await);
    assert!(
        bench.fault_entries().contains(&"landed"),
        "it is seen to be stopped"
    );
    bench.board.set_life(&bench.packer, Life::Running);
    assert!(matches!(held.await, After::Deliver));
}

#[tokio::test]
async fn any_other_signal_is_delivered_before_the_call_goes_on() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGTERM, "tried", None, Times::First(1)));
    bench.hold_the_actor();
    let call = bench.insert("tries", "job-M1");
    let _ = bench.before(&call).await;
    let mut held = bench.board.after(Arc::clone(&call), success(&call), true);
    assert!(waits(&mut held).await);
    bench.let_the_actor_go();
    assert!(matches!(held.await, After::Deliver));
    assert_eq!(bench.asked(), [Signal::SIGTERM]);
}

#[tokio::test]
async fn a_reply_for_a_dead_author_counts_its_passage_and_delivers_nothing() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    let call = bench.insert("tries", "job-M1");
    let _ = bench.before(&call).await;
    bench.board.set_life(&bench.packer, Life::Ending);
    let after = bench
        .board
        .after(Arc::clone(&call), success(&call), true)
        .await;
    assert!(matches!(after, After::Discard(_)));
    assert_eq!(bench.passages(), [passed("tried", Some("M1"))]);
    assert_eq!(bench.asked(), [], "nobody is there to be killed");
}

#[tokio::test]
async fn a_call_of_an_ending_author_goes_nowhere() {
    let bench = Bench::new().with(&["M1"]);
    bench.board.set_life(&bench.packer, Life::Ending);
    let call = bench.post(&json!({ "order": "job-M1" }));
    assert!(matches!(bench.before(&call).await, Before::Discard(_)));
    assert_eq!(bench.passages(), []);
    assert_eq!(bench.fault_entries(), ["injected"]);
}

#[tokio::test]
async fn a_disarmed_fault_does_nothing() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    bench.board.disarm_all();
    let call = bench.insert("tries", "job-M1");
    assert!(matches!(bench.whole(&call).await, After::Deliver));
    assert_eq!(bench.asked(), []);
}

#[tokio::test]
async fn an_unordered_death_is_announced_only_by_what_was_in_hand() {
    for (in_hand, expected) in [
        ("M1", DeathCause::Announced),
        ("M2", DeathCause::Unexpected),
    ] {
        let bench = Bench::new().with(&["M1", "M2"]);
        bench
            .board
            .declare(&"M1".into(), Some("packer".into()), &["M1"]);
        let _ = bench.receives(&bench.packer, &[in_hand]).await;
        bench
            .board
            .exited(&bench.packer, None, Some("SIGSEGV".to_owned()), None);
        let seen = bench
            .entries()
            .into_iter()
            .find_map(|entry| match entry.event {
                Event::Exited { cause, .. } => Some(cause),
                _ => None,
            });
        assert_eq!(seen, Some(expected));
    }
}

#[tokio::test]
async fn one_call_with_several_messages_is_one_death_and_every_fault_that_wanted_it_landed() {
    let bench = Bench::new().with(&["M1", "M2"]);
    for message in ["M1", "M2"] {
        bench.board.arm(fault(
            Signal::SIGKILL,
            "opened",
            Some(message),
            Times::First(1),
        ));
    }
    let after = bench.receives(&bench.packer, &["M1", "M2"]).await;
    assert!(matches!(after, After::Discard(_)));
    assert_eq!(bench.asked(), [Signal::SIGKILL]);
    let landed = |kind: &&&str| **kind == "landed";
    assert_eq!(bench.fault_entries().iter().filter(landed).count(), 2);
    assert!(!bench.fault_entries().contains(&"missed"));
}

#[tokio::test]
async fn a_wire_attempt_of_a_known_call_counts_no_further_passage() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGTERM, "removed", None, Times::Nth(2)));
    let attempt = |invocation: &str| {
        let body = json!({ "ReceiptHandle": "receipt-M1" });
        let call = bench.action(&bench.packer, "DeleteMessage", body);
        let Request::Sqs(request) = call.request.clone() else {
            unreachable!()
        };
        let invocation = Some(invocation.to_owned());
        let request = Request::Sqs(SqsRequest {
            invocation,
            ..request
        });
        Arc::new(Call {
            request,
            ..(*call).clone()
        })
    };
    for (invocation, signals) in [("a", 0), ("a", 0), ("b", 1), ("b", 2), ("c", 2)] {
        let _ = bench.whole(&attempt(invocation)).await;
        assert_eq!(bench.asked().len(), signals, "{invocation}");
    }
}

/// An actor that has the board, as the one of a rehearsal does.
struct Holding(Board);

impl Actor for Holding {
    fn signal(
        &self,
        _: Incarnation,
        _: Signal,
        _: Option<FaultId>,
    ) -> BoxFuture<'static, Result<String, String>> {
        let told = format!("{} entries", self.0.history().last());
        Box::pin(async move { Ok(told) })
    }

    fn expire(&self, _: Vec<Delivery>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }

    fn make_again(&self, _: Arc<Call>, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

#[tokio::test]
async fn a_board_ends_with_its_rehearsal_though_its_actor_has_it() {
    let bench = Bench::new();
    bench.board.dismiss_actor();
    bench
        .board
        .set_actor(Arc::new(Holding(bench.board.clone())));
    let (inner, history) = (
        Arc::downgrade(&bench.board.0),
        Arc::downgrade(bench.board.history()),
    );
    // The services that a board has know it in their turn.
    let late = super::super::Late::default();
    late.set(&bench.board);
    assert!(late.get().is_some());
    bench.board.dismiss_actor();
    drop(bench);
    assert!(inner.upgrade().is_none() && late.get().is_none());
    assert!(history.upgrade().is_none(), "its file stays open");
}
