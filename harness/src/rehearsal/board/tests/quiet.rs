//! When it is quiet, and who keeps it from being so.

use super::*;
use crate::ids::RoleName;

fn says(reasons: &[String], part: &str) -> bool {
    reasons.iter().any(|reason| reason.contains(part))
}

/// A packer that has asked for more and got nothing.
async fn idle() -> Bench {
    let bench = Bench::new().with(&["M1"]);
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    bench
}

#[tokio::test]
async fn a_consumer_that_waits_for_more_is_quiet() {
    assert_eq!(idle().await.reasons(&[]), Vec::<String>::new());
}

#[tokio::test]
async fn a_consumer_that_has_not_asked_since_its_last_effect_is_not() {
    let bench = idle().await;
    let call = bench.insert("tries", "job-M1");
    let _ = bench.whole(&call).await;
    assert!(says(
        &bench.reasons(&[]),
        "packer-1#1 has not asked for more"
    ));
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    assert_eq!(bench.reasons(&[]), Vec::<String>::new());
}

#[tokio::test]
async fn a_consumer_of_several_queues_asks_each_of_them() {
    let bench = Bench::with_manifest(|manifest| {
        let packer = manifest
            .processes
            .get_mut(&RoleName::new("packer"))
            .unwrap();
        packer.consumes = ["orders", "dead"]
            .map(|queue| ("queue".into(), queue.to_owned()))
            .to_vec();
    });
    let bench = bench.with(&["M1"]);
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    assert_eq!(
        bench.reasons(&[]),
        ["packer-1#1 has not asked `dead` for more since it started"]
    );
    let call = bench.action_on(&bench.packer, "dead", "ReceiveMessage", json!({}));
    let _ = bench.before(&call).await;
    assert_eq!(bench.reasons(&[]), Vec::<String>::new());
}

/// A packer of which nobody says what it consumes.
fn unsaid() -> Bench {
    let bench = Bench::with_manifest(|manifest| {
        let packer = manifest.processes.get_mut(&RoleName::new("packer"));
        packer.unwrap().consumes.clear();
    });
    bench.with(&["M1"])
}

#[tokio::test]
async fn whoever_asks_for_messages_is_a_consumer_though_nobody_says_so() {
    let bench = unsaid();
    assert_eq!(bench.board.without_consumer().len(), 1);
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    assert_eq!(bench.board.without_consumer(), []);
    let call = bench.insert("tries", "job-M1");
    let _ = bench.whole(&call).await;
    assert!(says(
        &bench.reasons(&[]),
        "packer-1#1 has not asked for more"
    ));
    let inferred = bench.board.note_consumers();
    assert!(says(&inferred, "was taken for a consumer"), "{inferred:?}");
}

#[tokio::test]
async fn a_consumer_that_asks_another_queue_than_is_said_is_a_doubt() {
    let bench = Bench::with_manifest(|manifest| {
        let packer = manifest.processes.get_mut(&RoleName::new("packer"));
        packer.unwrap().consumes = vec![("queue".into(), "dead".to_owned())];
    });
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    let _ = bench.board.note_consumers();
    assert!(bench.fault_entries().contains(&"doubt"));
    // One that asks both is none.
    let bench = idle().await;
    let call = bench.action_on(&bench.packer, "dead", "ReceiveMessage", json!({}));
    let _ = bench.before(&call).await;
    let _ = bench.board.note_consumers();
    assert!(!bench.fault_entries().contains(&"doubt"));
}

#[tokio::test]
async fn what_a_living_owner_has_in_hand_is_named_with_its_owner() {
    let bench = idle().await;
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    assert!(says(&bench.reasons(&[]), "packer-1#1 has M1 in hand"));
}

#[tokio::test]
async fn between_a_death_and_the_next_start_it_is_not_quiet() {
    let bench = idle().await;
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    bench
        .board
        .exited(&bench.packer, None, None, Some(DeathCause::Ordered));
    // By the board alone nobody lives and nobody holds anything: the supervisors know
    // that somebody is on the way.
    assert_eq!(bench.reasons(&[]), Vec::<String>::new());
    assert!(says(&bench.reasons(&["packer-1"]), "packer-1 is starting"));
    bench.board.register(&packer(2), &Arc::default());
    assert!(says(
        &bench.reasons(&[]),
        "packer-1#2 has not asked for more"
    ));
}

#[tokio::test]
async fn a_submission_under_way_is_not_quiet() {
    let bench = idle().await;
    bench.board.submitting(&"M2".into());
    assert!(says(&bench.reasons(&[]), "M2 is being submitted"));
    bench.board.refused(&"M2".into(), "no");
    assert_eq!(bench.reasons(&[]), Vec::<String>::new());
}

#[tokio::test]
async fn a_held_call_is_named_with_its_author_and_its_side() {
    let bench = idle().await;
    bench.board.arm(fault(
        Signal::SIGSTOP,
        "handing-over",
        None,
        Times::First(1),
    ));
    let call = bench.post(&json!({ "order": "job-M1" }));
    let mut held = bench.board.before(call);
    assert!(waits(&mut held).await);
    assert!(says(
        &bench.reasons(&[]),
        "held: POST /parcels of packer-1#1 (Before)"
    ));
}

#[tokio::test]
async fn a_timer_must_begin_twice_after_the_last_effect() {
    let bench = idle().await;
    let shop = Incarnation {
        role: "shop".into(),
        instance: 1,
        start: 1,
    };
    bench.board.register(&shop, &Arc::default());
    let tick = || {
        let request = Request::Postgres(PgRequest {
            statements: vec![statement("select id from unsent", &[])],
            transaction: Vec::new(),
            commits: true,
            elsewhere: None,
        });
        bench.call(&shop, "database", request)
    };
    assert!(says(&bench.reasons(&[]), "shop-1#1 has not ticked"));
    let _ = bench.whole(&tick()).await;
    assert!(
        says(&bench.reasons(&[]), "shop-1#1 has not ticked"),
        "that tick may still be at work"
    );
    let _ = bench.whole(&tick()).await;
    assert_eq!(bench.reasons(&[]), Vec::<String>::new());
}
