//! What becomes of single calls that a fault waits for, and when it counts as landed.

use std::time::Duration;

use super::*;
use crate::fault::Until;
use crate::tap::{Discard, Extent, PgError};

fn once(effect: Effect, stage: &str, message: &str) -> Fault {
    Fault {
        effect,
        point: Point::stage(stage),
        whose: Whose::These(vec![message.into()]),
        times: Times::First(1),
        may: false,
    }
}

fn armed(effect: Effect, stage: &str) -> Bench {
    let bench = Bench::new().with(&["M1", "M2"]);
    bench.board.arm(once(effect, stage, "M1"));
    bench
}

fn parcel(bench: &Bench, message: &str) -> Arc<Call> {
    bench.post(&json!({ "order": format!("job-{message}") }))
}

fn missed(bench: &Bench) -> Vec<String> {
    bench
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Missed { reason, .. } => Some(reason),
            _ => None,
        })
        .collect()
}

fn landed(bench: &Bench) -> Vec<String> {
    bench
        .entries()
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Landed { evidence, .. } => Some(evidence),
            _ => None,
        })
        .collect()
}

async fn after(bench: &Bench, call: &Arc<Call>) -> After {
    bench
        .board
        .after(Arc::clone(call), success(call), true)
        .await
}

fn deletion(bench: &Bench, messages: &[&str]) -> Arc<Call> {
    let entries: Vec<Value> = messages
        .iter()
        .map(|message| json!({ "Id": message, "ReceiptHandle": format!("receipt-{message}") }))
        .collect();
    bench.action(
        &bench.packer,
        "DeleteMessageBatch",
        json!({ "Entries": entries }),
    )
}

fn failed_entries(body: &Value) -> Vec<(&str, &str, bool)> {
    body["Failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["Id"].as_str().unwrap(),
                entry["Code"].as_str().unwrap(),
                entry["SenderFault"].as_bool().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_lost_request_never_arrives_and_its_stage_is_not_passed() {
    let bench = armed(Effect::LoseRequest, "shipped");
    let call = bench.insert("shipments", "job-M1");
    assert!(matches!(
        bench.before(&call).await,
        Before::Discard(Discard::Close)
    ));
    assert_eq!(bench.fault_entries(), ["triggered", "landed", "injected"]);
    // Once: the next one passes, and so does that of another message.
    for job in ["job-M1", "job-M2"] {
        assert!(matches!(
            bench.whole(&bench.insert("shipments", job)).await,
            After::Deliver
        ));
    }
    assert_eq!(
        bench.passages(),
        [passed("shipped", Some("M1")), passed("shipped", Some("M2"))]
    );
}

#[tokio::test]
async fn a_lost_reply_took_effect_and_its_stage_is_passed() {
    let bench = armed(Effect::LoseReply, "shipped");
    let call = bench.insert("shipments", "job-M1");
    assert!(matches!(bench.before(&call).await, Before::Forward));
    assert!(landed(&bench).is_empty(), "not before its effect");
    assert!(matches!(
        after(&bench, &call).await,
        After::Discard(Discard::Close)
    ));
    assert_eq!(bench.passages(), [passed("shipped", Some("M1"))]);
    assert_eq!(landed(&bench).len(), 1);
}

#[tokio::test]
async fn what_a_lost_reply_handed_over_is_given_back_at_once() {
    let bench = armed(Effect::LoseReply, "opened");
    let lost = bench.receives(&bench.packer, &["M1"]).await;
    assert!(matches!(lost, After::Discard(_)));
    tokio::task::yield_now().await;
    assert_eq!(bench.expired(), BTreeSet::from(["receipt-M1".to_owned()]));
    assert!(bench.board.in_flight(&"M1".into()).is_empty());
}

#[tokio::test]
async fn an_answer_is_an_error_of_the_calls_own_protocol() {
    let bench = armed(Effect::Answer("503".to_owned()), "handing-over");
    match bench.before(&parcel(&bench, "M1")).await {
        Before::Answer(Reply::Http(reply)) => assert_eq!(reply.status, 503),
        other => panic!("{other:?}"),
    }

    let bench = armed(Effect::Answer("40001".to_owned()), "shipped");
    match bench.before(&bench.insert("shipments", "job-M1")).await {
        Before::Answer(Reply::Postgres(PgReply {
            error: Some(PgError { code, .. }),
            status: TransactionStatus::Failed,
            durable,
            ..
        })) => {
            assert_eq!(code, "40001");
            assert!(durable.is_empty());
        }
        other => panic!("{other:?}"),
    }

    for (code, status) in [("InternalError", 500), ("AccessDenied", 400)] {
        let bench = armed(Effect::Answer(code.to_owned()), "removed");
        let _ = bench.receives(&bench.packer, &["M1"]).await;
        let body = json!({ "ReceiptHandle": "receipt-M1" });
        let call = bench.action(&bench.packer, "DeleteMessage", body);
        match bench.before(&call).await {
            Before::Answer(Reply::Sqs(reply)) => {
                assert_eq!((reply.status, reply.error.as_deref()), (status, Some(code)));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(landed(&bench).len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_the_protocol_does_not_know_misses_and_the_call_goes_on() {
    let bench = armed(Effect::Answer("InternalError".to_owned()), "handing-over");
    assert!(matches!(
        bench.before(&parcel(&bench, "M1")).await,
        Before::Forward
    ));
    assert_eq!(missed(&bench), ["`InternalError` is no status code"]);
    assert!(landed(&bench).is_empty());
}

#[tokio::test]
async fn a_delayed_call_goes_on_when_its_time_has_come() {
    let bench = armed(Effect::Delay(Duration::from_millis(20)), "shipped");
    let call = bench.insert("shipments", "job-M1");
    let begun = std::time::Instant::now();
    assert!(matches!(bench.before(&call).await, Before::Forward));
    assert!(begun.elapsed() >= Duration::from_millis(20));
    assert_eq!(landed(&bench).len(), 1);
}

#[tokio::test]
async fn a_caller_that_leaves_during_a_delay_does_not_take_the_landing_along() {
    let bench = armed(Effect::Delay(Duration::from_mins(10)), "shipped");
    let call = bench.insert("shipments", "job-M1");
    let mut before = bench.board.before(call);
    assert!(waits(&mut before).await);
    drop(before);
    assert_eq!(landed(&bench).len(), 1);
    assert!(!bench.board.has_faults_at_work());
}

#[tokio::test]
async fn a_doubled_call_lands_when_both_copies_were_answered() {
    let bench = armed(Effect::Duplicate, "handing-over");
    let call = parcel(&bench, "M1");
    assert!(matches!(bench.before(&call).await, Before::ForwardTwice));
    let _ = after(&bench, &call).await;
    assert!(landed(&bench).is_empty() && bench.board.has_faults_at_work());
    let _ = after(&bench, &call).await;
    assert_eq!(landed(&bench).len(), 1);
    assert!(!bench.board.has_faults_at_work());
}

#[tokio::test]
async fn a_doubled_call_of_which_a_copy_broke_off_misses() {
    let bench = armed(Effect::Duplicate, "handing-over");
    let call = parcel(&bench, "M1");
    assert!(matches!(bench.before(&call).await, Before::ForwardTwice));
    let broken = Arc::new(Reply::Broken {
        reason: "closed".to_owned(),
    });
    let _ = bench.board.after(Arc::clone(&call), broken, true).await;
    assert!(landed(&bench).is_empty());
    assert!(
        missed(&bench)[0].contains("got no answer"),
        "{:?}",
        missed(&bench)
    );
}

#[tokio::test]
async fn a_database_connection_repeats_no_call() {
    let bench = armed(Effect::Duplicate, "shipped");
    let call = bench.insert("shipments", "job-M1");
    assert!(matches!(bench.before(&call).await, Before::Forward));
    assert_eq!(missed(&bench), ["a database connection repeats no call"]);
}

#[tokio::test]
async fn what_a_tap_does_to_a_call_lands_when_the_tap_has_done_it() {
    let bench = armed(Effect::Pretend, "shipped");
    let call = bench.insert("shipments", "job-M1");
    assert!(matches!(bench.before(&call).await, Before::TakeBack));
    assert!(landed(&bench).is_empty() && bench.board.has_faults_at_work());
    bench.board.misbehaved(&call, Ok("was taken back"));
    assert_eq!(landed(&bench).len(), 1);
    assert!(!bench.board.has_faults_at_work());

    let bench = armed(Effect::Spoil, "shipped");
    let call = bench.insert("shipments", "job-M1");
    assert!(matches!(bench.before(&call).await, Before::Spoil));
    bench.board.misbehaved(&call, Err("no text"));
    assert!(landed(&bench).is_empty() && missed(&bench)[0].starts_with("no text"));
}

#[tokio::test]
async fn what_a_deletion_would_hide_is_nothing_and_misses() {
    let bench = armed(Effect::Lengthen, "removed");
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let call = deletion(&bench, &["M1"]);
    assert!(matches!(bench.before(&call).await, Before::Forward));
    assert!(missed(&bench)[0].contains("hides nothing"));
}

#[tokio::test]
async fn one_entry_of_a_batch_is_refused_and_the_others_arrive() {
    let bench = armed(Effect::RefuseEntry("InternalError".to_owned()), "removed");
    let _ = bench.receives(&bench.packer, &["M1", "M2"]).await;
    let call = deletion(&bench, &["M1", "M2"]);
    let Before::ForwardInstead(body) = bench.before(&call).await else {
        panic!("the queue gets what is left");
    };
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["Entries"].as_array().unwrap().len(), 1);
    assert_eq!(body["Entries"][0]["Id"], "M2");
    let reply = Arc::new(sqs(json!({ "Successful": [{ "Id": "M2" }] })));
    let After::Replace(Reply::Sqs(reply)) = bench.board.after(call, reply, true).await else {
        panic!("the caller is told of both");
    };
    assert_eq!(reply.body["Successful"][0]["Id"], "M2");
    assert_eq!(
        failed_entries(&reply.body),
        [("M1", "InternalError", false)]
    );
    let removed: Vec<_> = bench
        .passages()
        .into_iter()
        .filter(|(stage, _)| stage == "removed")
        .collect();
    assert_eq!(removed, [passed("removed", Some("M2"))]);
    assert_eq!(landed(&bench).len(), 1);
}

#[tokio::test]
async fn a_batch_of_which_nothing_is_left_never_arrives() {
    let bench = armed(
        Effect::RefuseEntry("InvalidMessageContents".to_owned()),
        "removed",
    );
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    match bench.before(&deletion(&bench, &["M1"])).await {
        Before::Answer(Reply::Sqs(reply)) => {
            assert_eq!((reply.status, &reply.error), (200, &None));
            let sender = ("M1", "InvalidMessageContents", true);
            assert_eq!(failed_entries(&reply.body), [sender]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn only_calls_to_a_queue_have_entries() {
    let bench = armed(Effect::RefuseEntry("InternalError".to_owned()), "shipped");
    let call = bench.insert("shipments", "job-M1");
    assert!(matches!(bench.before(&call).await, Before::Forward));
    assert_eq!(missed(&bench), ["only calls to a queue have entries"]);
}

#[tokio::test]
async fn a_held_process_waits_until_it_is_let_go() {
    let bench = armed(Effect::Hold(None), "weighing");
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let mut before = bench.board.before(bench.announcement("weighing"));
    assert!(waits(&mut before).await);
    bench.board.let_go(&"shop".into());
    assert!(waits(&mut before).await, "another role is meant");
    bench.board.let_go(&"packer".into());
    assert!(matches!(before.await, Before::Forward));
}

#[tokio::test]
async fn a_barrier_waits_for_the_passage_of_another_message() {
    for (ever, passed_before) in [(false, false), (true, true)] {
        let until = Until {
            message: "M2".into(),
            stage: "tried".into(),
            ever,
        };
        let bench = armed(Effect::Hold(Some(until)), "weighing");
        let _ = bench.receives(&bench.packer, &["M1"]).await;
        let tried = bench.insert("tries", "job-M2");
        if passed_before {
            let _ = bench.whole(&tried).await;
        }
        let mut before = bench.board.before(bench.announcement("weighing"));
        assert_eq!(waits(&mut before).await, !passed_before);
        if !passed_before {
            let _ = bench.whole(&tried).await;
            assert!(matches!(before.await, Before::Forward));
        }
    }
}

#[tokio::test]
async fn faults_that_are_taken_back_hold_nobody() {
    let bench = armed(Effect::Hold(None), "weighing");
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let mut before = bench.board.before(bench.announcement("weighing"));
    assert!(waits(&mut before).await);
    bench.board.disarm_all();
    bench.board.history().nudge();
    assert!(matches!(before.await, Before::Forward));
}

#[tokio::test]
async fn a_message_reappears_only_if_somebody_has_it() {
    let bench = armed(Effect::Reappear, "weighing");
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let _ = bench.before(&bench.announcement("weighing")).await;
    assert_eq!(bench.expired(), BTreeSet::from(["receipt-M1".to_owned()]));
    assert_eq!(landed(&bench), ["1 deliveries of M1 became visible"]);

    let bench = armed(Effect::Reappear, "shipped");
    let _ = bench.before(&bench.insert("shipments", "job-M1")).await;
    assert_eq!(missed(&bench), ["nobody had M1 in hand"]);
}

#[tokio::test]
async fn a_submission_is_found_by_its_key_or_because_it_is_the_only_one() {
    let submission = |bench: &Bench, key: &str| {
        Arc::new(Call {
            id: bench.board.next_call(),
            author: Author::Client,
            dependency: "shop".into(),
            connection: ConnectionId(1),
            request: Request::Http(HttpRequest {
                method: "POST".to_owned(),
                path: "/orders".to_owned(),
                query: None,
                headers: vec![("idempotency-key".to_owned(), key.to_owned())],
                body: Bytes::new(),
                is_cut: false,
            }),
        })
    };
    let lost = Fault {
        point: Point::Submission,
        ..once(Effect::LoseRequest, "shipped", "M1")
    };
    for (key, submitting) in [("M1", &["M1", "M2"][..]), ("unknown", &["M1"][..])] {
        let bench = Bench::new().with(&["M1", "M2"]);
        bench.board.arm(lost.clone());
        for message in submitting {
            bench.board.submitting(&(*message).into());
        }
        let other = submission(&bench, "M2");
        if submitting.len() > 1 {
            assert!(matches!(bench.before(&other).await, Before::Forward));
        }
        let own = submission(&bench, key);
        assert!(matches!(bench.before(&own).await, Before::Discard(_)));
        assert_eq!(landed(&bench).len(), 1);
    }
}

#[tokio::test]
async fn a_call_that_did_not_arrive_whole_stands_in_the_history() {
    let bench = armed(Effect::LoseRequest, "shipped");
    let call = bench.insert("shipments", "job-M2");
    assert!(matches!(bench.before(&call).await, Before::Forward));
    bench.board.forwarded(&call, Extent::Nothing);
    let told = |entry: &Entry| matches!(entry.event, Event::NotForwarded { .. });
    assert!(bench.entries().iter().any(told));
}
