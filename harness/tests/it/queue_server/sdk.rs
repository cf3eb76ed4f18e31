//! The AWS SDK for Rust against the server.

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};

use rehearsal::embedded::queue::{QueueOptions, QueueServer};

use super::client::{counts, queue, sdk, server};

#[tokio::test]
async fn a_message_makes_the_round() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let binary = MessageAttributeValue::builder()
        .data_type("Binary.png")
        .binary_value(Blob::new([0, 255, 1]))
        .build()
        .unwrap();
    let sent = client
        .send_message()
        .queue_url(&url)
        .message_body("grüße")
        .message_attributes("image", binary.clone())
        .send()
        .await
        .unwrap();
    let received = client
        .receive_message()
        .queue_url(&url)
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .send()
        .await
        .unwrap();
    let message = &received.messages()[0];
    assert_eq!(message.message_id, sent.message_id);
    assert_eq!(message.body(), Some("grüße"));
    assert_eq!(
        message.message_attributes.as_ref().unwrap()["image"],
        binary
    );
    assert_eq!(
        message.md5_of_message_attributes,
        sent.md5_of_message_attributes
    );
    assert_eq!(
        message.attributes.as_ref().unwrap()[&MessageSystemAttributeName::ApproximateReceiveCount],
        "1"
    );
    assert_eq!(counts(&client, &url).await, (0, 1, 0));
    client
        .delete_message()
        .queue_url(&url)
        .receipt_handle(message.receipt_handle().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(counts(&client, &url).await, (0, 0, 0));
    server.stop().await;
}

#[tokio::test]
async fn the_sdk_knows_the_errors_by_name() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let missing = client.get_queue_url().queue_name("missing").send().await;
    assert!(
        missing
            .unwrap_err()
            .into_service_error()
            .is_queue_does_not_exist()
    );
    let url = queue(&client, "jobs").await;
    let other = client
        .create_queue()
        .queue_name("jobs")
        .attributes(QueueAttributeName::DelaySeconds, "9")
        .send()
        .await;
    assert!(
        other
            .unwrap_err()
            .into_service_error()
            .is_queue_name_exists()
    );
    let garbage = client
        .delete_message()
        .queue_url(&url)
        .receipt_handle("garbage")
        .send()
        .await;
    assert!(
        garbage
            .unwrap_err()
            .into_service_error()
            .is_receipt_handle_is_invalid()
    );
    let fifo = client.create_queue().queue_name("jobs.fifo").send().await;
    let fifo = fifo.unwrap_err().into_service_error();
    assert_eq!(
        fifo.meta().code(),
        Some("InvalidParameterValue"),
        "{fifo:?}"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_batch_fails_by_entry() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let entry = |id: &str, body: &str| {
        SendMessageBatchRequestEntry::builder()
            .id(id)
            .message_body(body)
            .build()
            .unwrap()
    };
    let reply = client
        .send_message_batch()
        .queue_url(&url)
        .entries(entry("good", "x"))
        .entries(entry("bad", "\u{0}"))
        .send()
        .await
        .unwrap();
    assert_eq!(reply.successful()[0].id(), "good");
    assert_eq!(reply.failed()[0].id(), "bad");
    assert!(reply.failed()[0].sender_fault());
    server.stop().await;
}

#[tokio::test]
async fn a_deleted_queue_ends_the_long_polls_on_it() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let poll = client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send();
    let poll = tokio::spawn(poll);
    client.delete_queue().queue_url(&url).send().await.unwrap();
    let ended = tokio::time::timeout(super::client::NEVER, poll).await;
    let error = ended.expect("it goes on").unwrap().unwrap_err();
    assert!(error.into_service_error().is_queue_does_not_exist());
    server.stop().await;
}

#[tokio::test]
async fn a_stopped_server_ends_its_long_polls_and_frees_its_port() {
    let server = server().await;
    let address = server.address();
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let poll = client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send();
    let poll = tokio::spawn(poll);
    tokio::time::timeout(super::client::NEVER, server.stop())
        .await
        .expect("it does not stop");
    assert!(poll.await.unwrap().is_err());
    tokio::net::TcpListener::bind(address).await.unwrap();
}

#[tokio::test]
async fn a_deletion_at_the_in_flight_limit_lets_a_long_poll_go_on() {
    let server = QueueServer::start(QueueOptions {
        in_flight_limit: 1,
        ..QueueOptions::default()
    })
    .await
    .unwrap();
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    for body in ["first", "second"] {
        let send = client.send_message().queue_url(&url).message_body(body);
        send.send().await.unwrap();
    }
    let receive = client.receive_message().queue_url(&url);
    let first = receive
        .clone()
        .send()
        .await
        .unwrap()
        .messages
        .unwrap()
        .remove(0);
    let short = receive
        .clone()
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(short.is_over_limit(), "{short:?}");
    let poll = tokio::spawn(receive.wait_time_seconds(20).send());
    let delete = client.delete_message().queue_url(&url);
    let delete = delete.receipt_handle(first.receipt_handle.unwrap());
    delete.send().await.unwrap();
    let second = tokio::time::timeout(super::client::NEVER, poll).await;
    let second = second.expect("the poll goes on").unwrap().unwrap();
    assert_eq!(second.messages()[0].body(), Some("second"));
    server.stop().await;
}
