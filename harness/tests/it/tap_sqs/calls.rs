//! Actions, queue URLs, invocations, errors, and long polls.

use std::sync::Arc;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use rehearsal::protocol::sqs;
use rehearsal::tap::{After, Before, Discard, Reply, Request, SqsReply};
use serde_json::{Value, json};

use crate::tap_http::witness::{Dependency, Peer, Witness, context, soon};
use crate::tap_sqs::{Stand, requests};

#[tokio::test]
async fn queue_urls_are_the_taps_for_clients_and_the_dependencys_for_itself() {
    let stand = Stand::new().await;
    let sdk = stand.sdk();
    let url = sdk
        .get_queue_url()
        .queue_name("jobs")
        .send()
        .await
        .unwrap()
        .queue_url
        .unwrap();
    assert_eq!(url, stand.url());
    assert_eq!(
        sdk.list_queues().send().await.unwrap().queue_urls(),
        [stand.url()]
    );
    let sent = sdk
        .send_message()
        .queue_url(&url)
        .message_body("a")
        .send()
        .await
        .unwrap();
    assert!(sent.message_id.is_some());

    let theirs = json!(stand.queue.url());
    assert_eq!(stand.queue.bodies()[2]["QueueUrl"], theirs);
    let requests = stand.requests();
    let actions: Vec<_> = requests
        .iter()
        .map(|request| request.action.as_str())
        .collect();
    assert_eq!(actions, ["GetQueueUrl", "ListQueues", "SendMessage"]);
    let queues: Vec<_> = requests
        .iter()
        .map(|request| request.queue.as_deref())
        .collect();
    assert_eq!(queues, [Some("jobs"), None, Some("jobs")]);
    assert_eq!(requests[2].body["QueueUrl"], theirs);
    let Reply::Sqs(reply) = &*stand.witness.replies()[0] else {
        panic!("no SQS reply")
    };
    assert_eq!((reply.status, &reply.error), (200, &None));
    assert_eq!(reply.body["QueueUrl"], theirs);
}

#[tokio::test]
async fn a_client_may_use_the_dependencys_own_url() {
    let stand = Stand::new().await;
    let url = stand.queue.url();
    stand
        .sdk()
        .send_message()
        .queue_url(&url)
        .message_body("a")
        .send()
        .await
        .unwrap();
    assert_eq!(stand.queue.bodies()[0]["QueueUrl"], json!(url));
    assert_eq!(stand.requests()[0].queue.as_deref(), Some("jobs"));
}

#[tokio::test]
async fn bodies_of_messages_pass_unchanged() {
    let stand = Stand::new().await;
    let mut client = Peer::connect(stand.tap.address()).await;
    let body = r#"{ "MessageBody" : "{\"a\" : \"\u00e4\\ud800\"}",  "Depth":[ 1.0 ]  }"#;
    client.send(post("SendMessage", body)).await;
    client.message().await;
    assert_eq!(stand.queue.received.lock().unwrap()[0].1, body.as_bytes());

    // An SDK verifies the checksum of what it received.
    let received = stand
        .sdk()
        .receive_message()
        .queue_url(stand.url())
        .send()
        .await
        .unwrap();
    let text = received.messages()[0].body().unwrap();
    assert!(text.contains("http://elsewhere/1/q"), "{text}");
}

#[tokio::test]
async fn wire_attempts_of_one_call_share_its_invocation() {
    let stand = Stand::new().await;
    stand.witness.decide_after(After::Discard(Discard::Reset));
    let sdk = stand.sdk();
    sdk.send_message()
        .queue_url(stand.url())
        .message_body("a")
        .send()
        .await
        .unwrap();
    sdk.send_message()
        .queue_url(stand.url())
        .message_body("b")
        .send()
        .await
        .unwrap();
    let requests = stand.requests();
    let attempts: Vec<_> = requests.iter().map(|request| request.attempt).collect();
    assert_eq!(attempts, [1, 2, 1]);
    assert!(requests[0].invocation.is_some());
    assert_eq!(requests[0].invocation, requests[1].invocation);
    assert_ne!(requests[1].invocation, requests[2].invocation);
}

#[tokio::test]
async fn an_error_that_a_director_orders_is_understood_by_the_sdk() {
    let stand = Stand::new().await;
    let error = |name: &str, status| {
        Before::Answer(Reply::Sqs(SqsReply {
            status,
            error: Some(name.to_owned()),
            body: Value::Null,
            deletions: Vec::new(),
        }))
    };
    stand.witness.decide_before(error("QueueDoesNotExist", 400));
    let failure = stand
        .sdk()
        .send_message()
        .queue_url(stand.url())
        .message_body("a")
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(failure.is_queue_does_not_exist(), "{failure:?}");
    assert!(
        failure.meta().extra("aws_request_id").is_some(),
        "{failure:?}"
    );
    assert!(stand.queue.bodies().is_empty());

    // A fault of the server is tried again by the SDK, and then succeeds.
    stand.witness.decide_before(error("InternalError", 500));
    stand
        .sdk()
        .receive_message()
        .queue_url(stand.url())
        .send()
        .await
        .unwrap();
    assert_eq!(stand.queue.bodies().len(), 1);
}

#[tokio::test]
async fn an_error_of_the_queue_is_recorded_by_its_short_name() {
    let stand = Stand::new().await;
    let url = format!("http://{}/000000000000/other", stand.tap.address());
    let failure = stand
        .sdk()
        .receive_message()
        .queue_url(url)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(failure.is_queue_does_not_exist(), "{failure:?}");
    let Reply::Sqs(reply) = &*stand.witness.replies()[0] else {
        panic!("no SQS reply")
    };
    assert_eq!(
        (reply.status, reply.error.as_deref()),
        (400, Some("QueueDoesNotExist"))
    );
}

#[tokio::test]
async fn one_entry_of_a_batch_can_be_made_to_fail() {
    let stand = Stand::new().await;
    let release = stand.witness.hold_after();
    let entry = |id: &str| {
        SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body(id)
            .build()
            .unwrap()
    };
    let sdk = stand.sdk();
    let sending = sdk
        .send_message_batch()
        .queue_url(stand.url())
        .entries(entry("a"))
        .entries(entry("b"))
        .send();
    let deciding = async {
        stand.witness.told("after").await;
        let Reply::Sqs(mut reply) = (*stand.witness.replies()[0]).clone() else {
            panic!("no SQS reply")
        };
        reply.body["Successful"].as_array_mut().unwrap().pop();
        reply.body["Failed"] = json!([{"Id": "b", "Code": "InternalError", "SenderFault": false}]);
        release.send(After::Replace(Reply::Sqs(reply))).unwrap();
    };
    let (sent, ()) = soon(futures::future::join(sending, deciding)).await;
    let sent = sent.unwrap();
    assert_eq!(sent.successful()[0].id(), "a");
    assert_eq!(sent.failed()[0].id(), "b");
}

#[tokio::test]
async fn a_dead_clients_long_poll_is_ended_and_what_it_took_is_reported() {
    let dependency = Dependency::start().await;
    let witness = Witness::new();
    let tap = sqs::open(context(dependency.address(), &witness), Arc::default())
        .await
        .unwrap();
    let mut client = Peer::connect(tap.address()).await;
    client
        .send(post("ReceiveMessage", r#"{"QueueUrl":"http://x/1/jobs"}"#))
        .await;
    let mut peer = dependency.accept().await;
    peer.message().await;
    drop(client);
    // The queue sees the end of the connection, and has handed a message over already.
    peer.closed().await;
    let taken = r#"{"Messages":[{"ReceiptHandle":"r-1"}]}"#;
    peer.send(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{taken}",
        taken.len()
    ))
    .await;
    witness.told("after for nobody").await;
    let Reply::Sqs(reply) = &*witness.replies()[0] else {
        panic!("no SQS reply")
    };
    assert_eq!(reply.body["Messages"][0]["ReceiptHandle"], "r-1");
    // Only the queue's own end of the connection makes the death complete.
    let mut draining = std::pin::pin!(tap.drain());
    assert!(futures::poll!(&mut draining).is_pending());
    drop(peer);
    soon(draining).await;
    assert_eq!(
        witness.words(),
        [
            "connected",
            "before",
            "forwarded Whole",
            "abandoned After",
            "after for nobody",
            "disconnected"
        ]
    );
    assert_eq!(requests(&witness)[0].queue.as_deref(), Some("jobs"));
}

#[tokio::test]
async fn what_is_not_the_json_protocol_gets_an_honest_answer() {
    let form = "Action=ReceiveMessage&QueueUrl=x";
    let query = format!(
        "POST / HTTP/1.1\r\nhost: h\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\n\r\n{form}",
        form.len()
    );
    for (request, said) in [
        (query.into_bytes(), "JSON protocol"),
        (
            b"GET /?Version=1&Action=ListQueues HTTP/1.1\r\nhost: h\r\n\r\n".to_vec(),
            "JSON protocol",
        ),
        (post("SendMessage", "{").into_bytes(), "is not JSON"),
        (
            b"POST / HTTP/1.1\r\nhost: h\r\nx-amz-target: DynamoDB.Get\r\n\r\n".to_vec(),
            "not an SQS action",
        ),
    ] {
        let stand = Stand::new().await;
        let mut client = Peer::connect(stand.tap.address()).await;
        client.send(request).await;
        let reply = String::from_utf8(client.rest().await.unwrap()).unwrap();
        assert!(
            reply.starts_with("HTTP/1.1 400 ") && reply.contains(said),
            "{reply}"
        );
        drop(client);
        stand.witness.told("disconnected").await;
        assert_eq!(stand.witness.words(), ["connected", "disconnected"]);
        assert!(stand.witness.reasons()[0].contains("not passed on"));
    }
}

#[tokio::test]
async fn a_health_check_passes_as_plain_http() {
    let stand = Stand::new().await;
    let mut client = Peer::connect(stand.tap.address()).await;
    client.send("GET /health HTTP/1.1\r\nhost: h\r\n\r\n").await;
    assert_eq!(client.message().await.1, b"well");
    assert!(
        matches!(&stand.witness.calls()[0].request, Request::Http(request) if request.path == "/health")
    );
}

fn post(action: &str, body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nhost: h\r\nx-amz-target: AmazonSQS.{action}\r\n\
         content-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
