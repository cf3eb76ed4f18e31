//! Long bodies are passed on as they come, at bounded memory.

use std::time::Duration;

use rehearsal::tap::{Before, Discard, Request, Side};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::tap_http::witness::{Peer, soon};
use crate::tap_http::{GET, REPLY, Stand};

const MIB: usize = 1024 * 1024;

async fn stand() -> Stand {
    let stand = Stand::new().await;
    stand.witness.read_no_bodies();
    stand
}

fn bytes(count: usize) -> Vec<u8> {
    (0..=250).cycle().take(count).collect()
}

async fn read(peer: &mut Peer, count: usize) -> Vec<u8> {
    let mut read = vec![0; count];
    soon(peer.stream.read_exact(&mut read)).await.unwrap();
    read
}

/// How many bytes go out before nothing goes on any more.
async fn written_until_stuck(peer: &mut Peer, most: usize) -> usize {
    let piece = vec![7; 64 * 1024];
    let mut written = 0;
    while written < most {
        let write = tokio::time::timeout(Duration::from_millis(500), peer.stream.write(&piece));
        match write.await {
            Ok(count) => written += count.unwrap(),
            Err(_) => return written,
        }
    }
    written
}

#[tokio::test]
async fn a_long_request_arrives_before_its_end_was_sent() {
    let stand = stand().await;
    let body = bytes(8 * MIB);
    let mut client = stand.client().await;
    let length = body.len();
    client
        .send(format!(
            "POST /a HTTP/1.1\r\nHost: h\r\ncontent-length: {length}\r\n\r\n"
        ))
        .await;
    client.send(&body[..2 * MIB]).await;
    let mut peer = stand.dependency.accept().await;
    let head = peer.read_to("\r\n\r\n").await;
    assert!(
        head.contains(&format!("content-length: {length}\r\n")),
        "{head}"
    );
    let mut arrived = read(&mut peer, MIB).await;
    let (rest, ()) = tokio::join!(read(&mut peer, 7 * MIB), client.send(&body[2 * MIB..]));
    arrived.extend(rest);
    assert!(arrived == body, "the bytes are the same");
    peer.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
    let digest = Sha256::digest(&body).to_vec();
    assert_eq!(
        stand.witness.streams(),
        [(Side::Before, length as u64, digest, true)]
    );
    let Request::Http(request) = &stand.witness.calls()[0].request else {
        panic!("no HTTP");
    };
    assert!(request.is_cut);
    // The connection goes on.
    client.send(GET).await;
    peer.message().await;
    peer.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn a_long_request_in_chunks_arrives_in_chunks() {
    let stand = stand().await;
    let mut client = stand.client().await;
    client
        .send("POST /a HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
    let body = bytes(3 * MIB);
    for piece in body.chunks(MIB) {
        client.send(format!("{:x}\r\n", piece.len())).await;
        client.send(piece).await;
        client.send("\r\n").await;
    }
    let mut accepted = stand.dependency.accept().await;
    let head = accepted.read_to("\r\n\r\n").await;
    assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
    let reading = async {
        let mut arrived = Vec::new();
        loop {
            let size = accepted.read_to("\r\n").await;
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            arrived.extend(read(&mut accepted, size).await);
            assert_eq!(accepted.read_to("\r\n").await, "\r\n");
            if size == 0 {
                return arrived;
            }
        }
    };
    let (arrived, ()) = tokio::join!(reading, client.send("0\r\n\r\n"));
    assert!(arrived == body, "the bytes are the same");
    accepted.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn an_event_reaches_its_client_before_the_next_is_sent() {
    let stand = stand().await;
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .await;
    let head = client.read_to("\r\n\r\n").await;
    assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
    for number in 0..3 {
        peer.send(format!("9\r\ndata: {number}\n\n\r\n")).await;
        assert_eq!(
            client.read_to("\n\n\r\n").await,
            format!("9\r\ndata: {number}\n\n\r\n")
        );
    }
    peer.send("0\r\n\r\n").await;
    assert_eq!(client.read_to("0\r\n\r\n").await, "0\r\n\r\n");
    stand.witness.told("streamed After").await;
    client.send(GET).await;
    peer.message().await;
    peer.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn a_reply_that_takes_its_time_is_passed_on_as_it_comes() {
    let stand = stand().await;
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nfirst")
        .await;
    let head = client.read_to("\r\n\r\n").await;
    assert!(head.contains("transfer-encoding: chunked\r\n"), "{head}");
    assert_eq!(client.read_to("first\r\n").await, "5\r\nfirst\r\n");
    peer.send("second").await;
    assert_eq!(client.read_to("second\r\n").await, "6\r\nsecond\r\n");
    drop(peer);
    assert_eq!(client.rest().await.unwrap(), b"0\r\n\r\n");
}

#[tokio::test]
async fn a_reply_that_breaks_off_does_not_look_whole() {
    let stand = stand().await;
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 8 * MIB);
    let sending = async {
        peer.send(head).await;
        peer.send(bytes(2 * MIB)).await;
        drop(peer);
    };
    let (rest, ()) = tokio::join!(client.rest(), sending);
    let error = rest.expect_err("a reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    stand.witness.told("broken off After").await;
}

#[tokio::test]
async fn a_long_request_that_is_answered_or_dropped_before_is_not_passed_on() {
    let stand = stand().await;
    let head = format!(
        "POST /a HTTP/1.1\r\nHost: h\r\ncontent-length: {}\r\n\r\n",
        8 * MIB
    );
    stand.witness.decide_before(Before::Discard(Discard::Reset));
    let mut client = stand.client().await;
    client.send(&head).await;
    client.send(bytes(2 * MIB)).await;
    client.reset().await;
    assert!(stand.dependency.untouched());
}

/// What nobody takes is not taken in by the tap, either.
#[tokio::test]
async fn the_tap_holds_no_more_of_a_stream_than_it_needs() {
    const MOST: usize = 256 * MIB;
    let stand = stand().await;
    let mut client = stand.client().await;
    let head = format!("POST /a HTTP/1.1\r\nHost: h\r\ncontent-length: {MOST}\r\n\r\n");
    client.send(head).await;
    let up = written_until_stuck(&mut client, MOST).await;
    assert!(up < MOST / 8, "{up} bytes were taken");
    let _sink = stand.dependency.accept().await;

    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {MOST}\r\n\r\n"))
        .await;
    let down = written_until_stuck(&mut peer, MOST).await;
    assert!(down < MOST / 8, "{down} bytes were taken");
}
