//! Clients that go away during a long poll take nothing with them.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;

use super::client::{NEVER, call, counts, queue, request, sdk, server};

fn poll(address: std::net::SocketAddr, url: &str) -> TcpStream {
    let body = json!({ "QueueUrl": url, "WaitTimeSeconds": 20, "MaxNumberOfMessages": 10 });
    let mut stream = TcpStream::connect(address).unwrap();
    let request = request("ReceiveMessage", &body.to_string());
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// The client is gone before the message is sent, if only by microseconds: then the
/// message is there for the next one, each time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_right_after_an_abort_is_never_swallowed() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let mut random = StdRng::seed_from_u64(1);
    for round in 0..400 {
        let stream = poll(server.address(), &url);
        let pause = Duration::from_micros(random.random_range(0..1_500));
        tokio::time::sleep(pause).await;
        drop(stream);
        let send = json!({ "QueueUrl": url, "MessageBody": round.to_string() });
        let (status, _) = call(server.address(), "SendMessage", &send).await;
        assert_eq!(status, 200);
        assert_eq!(counts(&client, &url).await, (1, 0, 0), "round {round}");
        let received = client.receive_message().queue_url(&url).send().await;
        let message = received.unwrap().messages.unwrap().remove(0);
        assert_eq!(message.body.unwrap(), round.to_string());
        client
            .delete_message()
            .queue_url(&url)
            .receipt_handle(message.receipt_handle.unwrap())
            .send()
            .await
            .unwrap();
    }
    server.stop().await;
}

/// Aborts and sends at random. A message whose reply was on its way when its client
/// left is in flight, so it comes back at the end of its visibility: nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_aborts_of_the_sdk_lose_nothing() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let mut random = StdRng::seed_from_u64(2);
    let (mut accepted, mut deleted) = (0, 0);
    for _ in 0..300 {
        let receive = client
            .receive_message()
            .queue_url(&url)
            .wait_time_seconds(20)
            .send();
        let patience = Duration::from_micros(random.random_range(0..4_000));
        let before_send = Duration::from_micros(random.random_range(0..4_000));
        let send = async {
            tokio::time::sleep(before_send).await;
            let send = client.send_message().queue_url(&url).message_body("x");
            send.send().await.unwrap();
        };
        let (received, ()) = tokio::join!(tokio::time::timeout(patience, receive), send);
        accepted += 1;
        for message in received
            .into_iter()
            .flat_map(|reply| reply.unwrap().messages.unwrap_or_default())
        {
            let handle = message.receipt_handle.unwrap();
            let delete = client.delete_message().queue_url(&url);
            delete.receipt_handle(handle).send().await.unwrap();
            deleted += 1;
        }
    }
    let (visible, in_flight, delayed) = counts(&client, &url).await;
    assert_eq!(deleted + visible + in_flight + delayed, accepted);
    assert!(
        deleted > 0 && deleted < accepted,
        "{deleted} of {accepted}: no race at all"
    );
    println!("{accepted} sent, {deleted} deleted, {visible} visible, {in_flight} orphaned");
    server.stop().await;
}

#[tokio::test]
async fn the_end_of_the_clients_stream_ends_the_poll_and_the_connection() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    let address = server.address();
    let took = tokio::task::spawn_blocking(move || {
        let mut stream = poll(address, &url);
        stream.set_read_timeout(Some(NEVER)).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let start = Instant::now();
        let mut rest = Vec::new();
        stream
            .read_to_end(&mut rest)
            .expect("the server keeps its side open");
        start.elapsed()
    });
    assert!(took.await.unwrap() < NEVER);
    server.stop().await;
}

#[tokio::test]
async fn a_woken_poll_whose_client_left_passes_the_message_on() {
    let server = server().await;
    let client = sdk(&server.endpoint());
    let url = queue(&client, "jobs").await;
    for round in 0..50 {
        // The one that leaves waits first, so it is the first to be woken.
        let leaving = poll(server.address(), &url);
        let waiting = client
            .receive_message()
            .queue_url(&url)
            .wait_time_seconds(20)
            .send();
        let waiting = tokio::spawn(waiting);
        tokio::time::sleep(Duration::from_millis(2)).await;
        drop(leaving);
        let send = client.send_message().queue_url(&url).message_body("x");
        send.send().await.unwrap();
        let reply = tokio::time::timeout(NEVER, waiting)
            .await
            .unwrap_or_else(|_| panic!("round {round}: nobody got it"));
        assert_eq!(reply.unwrap().unwrap().messages().len(), 1);
    }
    server.stop().await;
}
