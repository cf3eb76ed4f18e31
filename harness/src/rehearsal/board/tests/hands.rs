//! Who has which delivery, and which receipts are nobody's.

use super::*;

fn receipts(orphans: &[Delivery]) -> Vec<&str> {
    orphans
        .iter()
        .map(|orphan| orphan.receipt.as_str())
        .collect()
}

#[tokio::test]
async fn what_a_dead_owner_had_is_orphaned_once_its_connections_have_ended() {
    let bench = Bench::new().with(&["M1", "M2"]);
    let _ = bench.receives(&bench.packer, &["M1", "M2"]).await;
    bench
        .board
        .exited(&bench.packer, None, Some("SIGKILL".to_owned()), None);
    assert!(
        bench.expired().is_empty(),
        "not before its end was seen by the queue"
    );
    let orphans = bench.board.drained(&bench.packer);
    assert_eq!(receipts(&orphans), ["receipt-M1", "receipt-M2"]);
    assert!(bench.board.drained(&bench.packer).is_empty(), "once");
}

#[tokio::test]
async fn what_was_deleted_or_released_is_not_orphaned() {
    let bench = Bench::new().with(&["M1", "M2", "M3"]);
    let _ = bench.receives(&bench.packer, &["M1", "M2", "M3"]).await;
    for (action, body) in [
        ("DeleteMessage", json!({ "ReceiptHandle": "receipt-M1" })),
        (
            "ChangeMessageVisibility",
            json!({ "ReceiptHandle": "receipt-M2", "VisibilityTimeout": 0 }),
        ),
        (
            "ChangeMessageVisibility",
            json!({ "ReceiptHandle": "receipt-M3", "VisibilityTimeout": 30 }),
        ),
    ] {
        let call = bench.action(&bench.packer, action, body);
        let _ = bench.whole(&call).await;
    }
    bench.board.exited(&bench.packer, None, None, None);
    let orphans = bench.board.drained(&bench.packer);
    assert_eq!(
        receipts(&orphans),
        ["receipt-M3"],
        "an extension dies with its owner"
    );
}

#[tokio::test]
async fn a_delivery_that_a_living_caller_did_not_get_is_expired_at_once() {
    let bench = Bench::new().with(&["M1"]);
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    let _ = bench.board.after(call, delivering(&["M1"]), false).await;
    assert_eq!(bench.expired(), BTreeSet::from(["receipt-M1".to_owned()]));
}

#[tokio::test]
async fn a_delivery_that_a_dead_caller_did_not_get_is_left_to_its_death() {
    let bench = Bench::new().with(&["M1"]);
    let call = bench.receive(&bench.packer);
    let _ = bench.before(&call).await;
    bench
        .board
        .exited(&bench.packer, None, None, Some(DeathCause::Ordered));
    let _ = bench.board.after(call, delivering(&["M1"]), false).await;
    assert!(bench.expired().is_empty());
    assert_eq!(
        receipts(&bench.board.drained(&bench.packer)),
        ["receipt-M1"]
    );
}

#[tokio::test]
async fn a_later_delivery_of_a_copy_takes_it_out_of_the_first_owner_s_hand() {
    let bench = Bench::new().with(&["M1"]);
    let second = packer(2);
    bench.board.register(&second, &Arc::default());
    let _ = bench.receives(&bench.packer, &["M1"]).await;
    let call = bench.receive(&second);
    let _ = bench.before(&call).await;
    let again = Arc::new(sqs(json!({ "Messages": [{
        "MessageId": "copy-M1", "ReceiptHandle": "receipt-again", "Body": "{\"order\":\"job-M1\"}",
    }] })));
    let _ = bench.board.after(call, again, true).await;
    bench
        .board
        .exited(&bench.packer, None, None, Some(DeathCause::Ordered));
    assert!(bench.board.drained(&bench.packer).is_empty());
    bench
        .board
        .exited(&second, None, None, Some(DeathCause::Ordered));
    assert_eq!(receipts(&bench.board.drained(&second)), ["receipt-again"]);
}
