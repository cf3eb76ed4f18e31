//! What the harness may ask and no SQS offers.

use rehearsal::embedded::queue::QueueServer;
use rehearsal::embedded::queue::admin::{
    Duplicate, DuplicateWhen, Expire, Expired, ExpiryOutcome, Health, Log, Snapshot,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::client::{counts, queue, sdk, server};

async fn get<T: DeserializeOwned>(server: &QueueServer, place: &str) -> T {
    let url = format!("{}/_rehearsal/{place}", server.endpoint());
    reqwest::get(url).await.unwrap().json().await.unwrap()
}

async fn post(server: &QueueServer, place: &str, request: &impl Serialize) -> reqwest::Response {
    let url = format!("{}/_rehearsal/{place}", server.endpoint());
    let client = reqwest::Client::new();
    client.post(url).json(request).send().await.unwrap()
}

pub(crate) async fn snapshot(server: &QueueServer) -> Snapshot {
    get(server, "queues").await
}

#[tokio::test]
async fn an_expired_receipt_wakes_a_long_poll() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let send = client.send_message().queue_url(&url).message_body("x");
    send.send().await.unwrap();
    let receive = client.receive_message().queue_url(&url);
    let first = receive.send().await.unwrap().messages.unwrap().remove(0);
    let poll = client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send();
    let poll = tokio::spawn(poll);
    let handle = first.receipt_handle.unwrap();
    let expire = Expire {
        receipt_handles: vec![handle.clone()],
    };
    let expired: Expired = post(&server, "expire", &expire).await.json().await.unwrap();
    assert_eq!(expired.outcomes, [ExpiryOutcome::MadeVisible]);
    let second = tokio::time::timeout(super::client::NEVER, poll).await;
    let second = second.expect("the poll goes on").unwrap().unwrap();
    assert_eq!(second.messages()[0].message_id, first.message_id);
    let again: Expired = post(&server, "expire", &expire).await.json().await.unwrap();
    assert_eq!(again.outcomes, [ExpiryOutcome::Superseded]);
    server.stop().await;
}

#[tokio::test]
async fn a_duplicate_comes_now_or_after_the_deletion() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    for when in [DuplicateWhen::Now, DuplicateWhen::AfterDelete] {
        let send = client.send_message().queue_url(&url).message_body("x");
        let id = send.send().await.unwrap().message_id.unwrap();
        let receive = || client.receive_message().queue_url(&url).send();
        let first = receive().await.unwrap().messages.unwrap().remove(0);
        let request = Duplicate {
            queue: "jobs".to_owned(),
            message_id: id.parse().unwrap(),
            when,
        };
        assert_eq!(post(&server, "duplicate", &request).await.status(), 200);
        let delete = |handle: Option<String>| {
            let delete = client.delete_message().queue_url(&url);
            delete.receipt_handle(handle.unwrap()).send()
        };
        if when == DuplicateWhen::AfterDelete {
            delete(first.receipt_handle.clone()).await.unwrap();
        }
        let second = receive().await.unwrap().messages.unwrap().remove(0);
        assert_eq!(second.message_id, Some(id));
        delete(second.receipt_handle).await.unwrap();
        assert_eq!(counts(&client, &url).await, (0, 0, 0));
    }
    server.stop().await;
}

#[tokio::test]
async fn the_log_and_the_snapshot_tell_the_same_story() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    queue(&client, "other").await;
    let send = client.send_message().queue_url(&url).message_body("x");
    send.send().await.unwrap();
    let receive = client.receive_message().queue_url(&url).send().await;
    let handle = receive.unwrap().messages.unwrap().remove(0).receipt_handle;
    let log: Log = get(&server, "log?queue=jobs").await;
    let events: Vec<&str> = log
        .entries
        .iter()
        .map(|entry| entry.event.as_str())
        .collect();
    assert_eq!(events, ["sent", "delivered"]);
    assert_eq!(log.entries[1].receipt_handle, handle);
    let rest: Log = get(&server, &format!("log?after={}", log.next)).await;
    assert!(rest.entries.is_empty());
    let snapshot = snapshot(&server).await;
    assert_eq!(snapshot.log, log.next);
    let jobs = &snapshot.queues[0];
    assert_eq!((jobs.name.as_str(), jobs.counts.in_flight), ("jobs", 1));
    assert_eq!((jobs.tally.sent, jobs.tally.received), (1, 1));
    let health: Health = get(&server, "health").await;
    assert_eq!(health.server, "rehearsal queue");
    server.stop().await;
}

#[tokio::test]
async fn a_wrong_request_says_what_is_wrong() {
    let server = server().await;
    for (place, request, status) in [
        (
            "expire",
            serde_json::json!({ "receipt_handles": ["x"] }),
            400,
        ),
        ("expire", serde_json::json!({ "receipt_handle": "x" }), 400),
        (
            "duplicate",
            serde_json::json!({ "queue": "none", "message_id": uuid::Uuid::nil() }),
            404,
        ),
        ("nonsense", serde_json::json!({}), 404),
    ] {
        let response = post(&server, place, &request).await;
        assert_eq!(response.status(), status, "{place} {request}");
        let body: serde_json::Value = response.json().await.unwrap();
        assert!(!body["error"].as_str().unwrap().is_empty());
    }
    server.stop().await;
}

#[tokio::test]
async fn callers_are_told_by_queue_and_without_the_harness_itself() {
    use aws_sdk_sqs::config::AppName;
    use rehearsal::embedded::queue::{OWN_APPLICATION, admin::Ports};

    let server = server().await;
    let stranger = sdk(&server.endpoint());
    let own = stranger.config().to_builder();
    let own = own.app_name(AppName::new(OWN_APPLICATION).unwrap()).build();
    let own = aws_sdk_sqs::Client::from_conf(own);
    let (seen, unseen) = (queue(&own, "seen").await, queue(&own, "unseen").await);
    for url in [&seen, &unseen] {
        own.send_message()
            .queue_url(url)
            .message_body("x")
            .send()
            .await
            .unwrap();
    }
    stranger
        .receive_message()
        .queue_url(&seen)
        .send()
        .await
        .unwrap();
    let of_seen: Ports = get(&server, "callers?queue=seen").await;
    assert_eq!(of_seen.ports.len(), 1);
    let of_unseen: Ports = get(&server, "callers?queue=unseen").await;
    assert!(of_unseen.ports.is_empty(), "{of_unseen:?}");
    server.stop().await;
}
