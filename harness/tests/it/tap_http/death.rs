//! The gate: after it has closed nothing of its incarnation reaches the dependency.

use std::sync::Arc;

use rehearsal::tap::{Before, Discard};

use crate::tap_http::witness::soon;
use crate::tap_http::{GET, REPLY, Stand};

#[tokio::test]
async fn what_a_dead_process_left_in_its_socket_is_no_call_and_goes_nowhere() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    stand.gate.close().await;
    client.send(GET).await;
    drop(client);
    peer.closed().await;
    drop(peer);
    soon(stand.tap.drain()).await;
    assert_eq!(stand.witness.words()[4..], ["disconnected"]);
}

#[tokio::test]
async fn a_process_killed_at_a_held_call_never_made_it() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    let release = stand.witness.hold_before();
    client.send(GET).await;
    stand.witness.told_times("before", 2).await;
    stand.gate.close().await;
    // The process dies: its socket closes.
    drop(client);
    // The director may be late with its word.
    let _ = release.send(Before::Discard(Discard::Reset));
    peer.closed().await;
    drop(peer);
    soon(stand.tap.drain()).await;
    assert!(
        !stand
            .witness
            .words()
            .contains(&"forwarded Partly".to_owned())
    );
    assert_eq!(stand.witness.words().last().unwrap(), "disconnected");
}

#[tokio::test]
async fn a_call_released_into_a_closed_gate_is_recorded_as_not_forwarded() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    let release = stand.witness.hold_before();
    client.send(GET).await;
    stand.witness.told_times("before", 2).await;
    stand.gate.close().await;
    release.send(Before::Forward).unwrap();
    stand.witness.told("forwarded Nothing").await;
    peer.closed().await;
    // A process that is about to die notices nothing.
    assert!(client.silent());
    drop((client, peer));
    stand.witness.told("disconnected").await;
}

#[tokio::test]
async fn a_write_under_way_is_cut_off_and_recorded_as_partly_forwarded() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    let length = 48 * 1024 * 1024;
    client
        .send(format!(
            "PUT /a HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\n\r\n"
        ))
        .await;
    client.send(vec![b'x'; length]).await;
    let peer = stand.dependency.accept().await;
    stand.witness.told("before").await;
    // The dependency has begun to get the call and does not read on.
    soon(peer.stream.peek(&mut [0; 1])).await.unwrap();
    stand.gate.close().await;
    stand.witness.told("forwarded Partly").await;
    drop((client, peer));
    soon(stand.tap.drain()).await;
    assert_eq!(
        stand.witness.words(),
        [
            "connected",
            "before",
            "forwarded Partly",
            "broken for nobody",
            "disconnected"
        ]
    );
}

#[tokio::test]
async fn a_reply_to_a_dying_process_is_reported_and_not_delivered() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    client.send(GET).await;
    peer.message().await;
    stand.witness.told_times("forwarded Whole", 2).await;
    stand.gate.close().await;
    peer.send(REPLY).await;
    stand.witness.told("after for nobody").await;
    peer.closed().await;
    assert!(client.silent());
    drop((client, peer));
    stand.witness.told("disconnected").await;
}

#[tokio::test]
async fn bytes_sent_around_the_closing_of_the_gate_arrive_whole_or_not_at_all() {
    for round in 0..50_u32 {
        let stand = Stand::new().await;
        let (mut client, mut peer) = stand.warm().await;
        let gate = Arc::clone(&stand.gate);
        let closing = tokio::spawn(async move {
            for _ in 0..round % 10 {
                tokio::task::yield_now().await;
            }
            gate.close().await;
        });
        client.send(GET).await;
        soon(closing).await.unwrap();
        let recorded = |stand: &Stand| stand.witness.words()[4..].to_vec();
        drop(client);
        let arrived = peer.rest().await.unwrap();
        drop(peer);
        soon(stand.tap.drain()).await;
        let words = recorded(&stand);
        let whole = words.contains(&"forwarded Whole".to_owned());
        assert_eq!(
            arrived,
            if whole { GET.as_bytes() } else { b"" },
            "{words:?}"
        );
    }
}
