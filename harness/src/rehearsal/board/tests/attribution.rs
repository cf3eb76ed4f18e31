//! Whose message a call is about: by id, by what is in hand, or not to be told.

use super::*;

#[tokio::test]
async fn a_call_without_any_id_is_about_the_one_message_in_hand() {
    let bench = Bench::new().with(&["M1", "M2"]);
    let _ = bench.receives(&bench.packer, &["M2"]).await;
    let call = bench.announcement("weighing");
    let _ = bench.before(&call).await;
    assert_eq!(
        bench.passages(),
        [passed("opened", Some("M2")), passed("weighing", Some("M2"))]
    );
}

#[tokio::test]
async fn a_trigger_s_call_that_cannot_be_attributed_is_a_doubt_and_no_guess() {
    let bench = Bench::new().with(&["M1", "M2"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "weighing", Some("M1"), Times::Every));
    let _ = bench.receives(&bench.packer, &["M1", "M2"]).await;
    let call = bench.announcement("weighing");
    assert!(matches!(bench.before(&call).await, Before::Forward));
    assert_eq!(bench.asked(), []);
    let judgement = bench.board.history().read(|entries| {
        crate::judge::judge(crate::judge::Evidence {
            manifest: bench.board.manifest(),
            entries,
        })
    });
    assert_eq!(judgement.verdict, crate::judge::Verdict::Error);
    assert!(
        judgement.errors[0].text.contains("messages.recognise"),
        "{:?}",
        judgement.errors
    );
}

#[tokio::test]
async fn a_message_that_is_not_among_those_in_hand_is_ruled_out_without_doubt() {
    let bench = Bench::new().with(&["M1", "M2", "M3"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "weighing", Some("M1"), Times::Every));
    let _ = bench.receives(&bench.packer, &["M2", "M3"]).await;
    let call = bench.announcement("weighing");
    let _ = bench.before(&call).await;
    assert!(!bench.fault_entries().contains(&"doubt"));
}

#[tokio::test]
async fn a_call_of_an_author_that_never_started_is_not_acted_on() {
    let bench = Bench::new().with(&["M1"]);
    bench
        .board
        .arm(fault(Signal::SIGKILL, "tried", None, Times::Every));
    let stranger = packer(9);
    let call = bench.call(
        &stranger,
        "database",
        bench.insert("tries", "job-M1").request.clone(),
    );
    assert!(matches!(bench.before(&call).await, Before::Discard(_)));
    assert_eq!(bench.asked(), []);
}

#[tokio::test]
async fn a_transaction_inherits_the_message_of_its_other_statements() {
    let bench = Bench::new().with(&["M1"]);
    let durable = vec![
        statement(
            "update orders set state = 'tried' where id = $1",
            &["job-M1"],
        ),
        statement("insert into tries values ($1)", &["a number of its own"]),
    ];
    let call = bench.insert("tries", "a number of its own");
    let _ = bench.before(&call).await;
    let reply = Arc::new(Reply::Postgres(PgReply {
        tags: vec!["COMMIT".to_owned()],
        error: None,
        status: TransactionStatus::Idle,
        durable,
        effects: Vec::new(),
    }));
    let _ = bench.board.after(call, reply, true).await;
    assert_eq!(bench.passages(), [passed("tried", Some("M1"))]);
}

#[tokio::test]
async fn the_client_of_the_harness_passes_no_stage() {
    let bench = Bench::new().with(&["M1"]);
    let own = Arc::new(Call {
        author: Author::Client,
        ..(*bench.insert("tries", "job-M1")).clone()
    });
    assert!(matches!(bench.whole(&own).await, After::Deliver));
    assert_eq!(bench.passages(), []);
}
