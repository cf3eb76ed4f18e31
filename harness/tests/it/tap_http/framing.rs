//! HTTP/1.1 itself: bodies, lengths, versions, and what is none of it.

use crate::tap_http::witness::Peer;
use crate::tap_http::{GET, REPLY, Stand};

#[tokio::test]
async fn pipelined_requests_are_calls_in_their_order() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: h\r\n\r\n");
    client
        .send([get("/1"), get("/2"), get("/3")].concat())
        .await;
    let mut peer = stand.dependency.accept().await;
    for number in 1..=3 {
        assert!(
            peer.message()
                .await
                .0
                .starts_with(&format!("GET /{number} "))
        );
        assert!(
            peer.silent(),
            "the next call is not forwarded before this one's reply"
        );
        peer.send(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}"
        ))
        .await;
    }
    for number in 1..=3 {
        assert_eq!(client.message().await.1, number.to_string().as_bytes());
    }
    let paths: Vec<String> = stand
        .witness
        .requests()
        .into_iter()
        .map(|request| request.path)
        .collect();
    assert_eq!(paths, ["/1", "/2", "/3"]);
}

#[tokio::test]
async fn chunked_bodies_arrive_whole_in_both_directions() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    client
        .send("POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
    client
        .send("3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n")
        .await;
    let mut peer = stand.dependency.accept().await;
    let (head, body) = peer.message().await;
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert_eq!(body, b"abc0123456789");
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        .await;
    let (head, body) = client.message().await;
    assert!(!head.to_lowercase().contains("transfer-encoding"), "{head}");
    assert_eq!(body, b"ok");
}

#[tokio::test]
async fn a_client_that_waits_to_be_told_to_continue_is_told() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    client
        .send("PUT / HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        .await;
    assert_eq!(
        client.read_to("\r\n\r\n").await,
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    assert_eq!(stand.witness.words(), ["connected"]);
    client.send("ok").await;
    let mut peer = stand.dependency.accept().await;
    let (head, body) = peer.message().await;
    assert!(!head.contains("expect"), "{head}");
    assert_eq!(body, b"ok");
    peer.send("HTTP/1.1 100 Continue\r\n\r\n").await;
    peer.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn replies_without_a_body_end_with_their_head() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    client.send("HEAD / HTTP/1.1\r\nhost: h\r\n\r\n").await;
    peer.message().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n")
        .await;
    assert_eq!(
        client.read_to("\r\n\r\n").await,
        "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n"
    );
    for status in ["204 No Content", "304 Not Modified"] {
        client.send(GET).await;
        peer.message().await;
        peer.send(format!("HTTP/1.1 {status}\r\netag: x\r\n\r\n"))
            .await;
        let head = client.read_to("\r\n\r\n").await;
        assert_eq!(head, format!("HTTP/1.1 {status}\r\netag: x\r\n\r\n"));
    }
    client.send(GET).await;
    peer.message().await;
    peer.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn a_reply_that_ends_with_its_connection_arrives_whole() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    client.send("GET / HTTP/1.0\r\n\r\n").await;
    let mut peer = stand.dependency.accept().await;
    assert_eq!(peer.message().await.0, "GET / HTTP/1.0\r\n\r\n");
    peer.send("HTTP/1.0 200 OK\r\n\r\nall of it").await;
    drop(peer);
    let (head, body) = client.message().await;
    assert!(head.contains("connection: close"), "{head}");
    assert_eq!(body, b"all of it");
    client.closed().await;
}

#[tokio::test]
async fn a_client_that_asks_to_close_is_closed_on_both_sides() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    client
        .send("GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .await;
    let mut peer = stand.dependency.accept().await;
    assert!(peer.message().await.0.contains("connection: close"));
    peer.send(REPLY).await;
    client.message().await;
    client.closed().await;
    peer.closed().await;
}

#[tokio::test]
async fn an_early_reply_to_a_long_request_is_delivered() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    let length = 32 * 1024 * 1024;
    client
        .send(format!(
            "PUT / HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\n\r\n"
        ))
        .await;
    client.send(vec![0; length]).await;
    let mut peer = stand.dependency.accept().await;
    peer.read_to("\r\n\r\n").await;
    peer.send("HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        .await;
    peer.half_close().await;
    drop(peer);
    let (head, _) = client.message().await;
    assert!(head.starts_with("HTTP/1.1 413 "), "{head}");
    stand.witness.told("forwarded Partly").await;
}

/// Sends what is no call; gives the reply and the reason for which it ended.
async fn refused(bytes: &[u8]) -> (String, String) {
    let stand = Stand::new().await;
    let mut client: Peer = stand.client().await;
    client.send(bytes).await;
    let reply = String::from_utf8(client.rest().await.unwrap()).unwrap();
    drop(client);
    stand.witness.told("disconnected").await;
    assert_eq!(stand.witness.words(), ["connected", "disconnected"]);
    assert!(stand.dependency.untouched());
    (reply, stand.witness.reasons().remove(0))
}

#[tokio::test]
async fn http2_and_tls_are_refused_by_name() {
    let (reply, reason) = refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 505 "), "{reply}");
    assert!(reason.contains("HTTP/2"), "{reason}");
    let (reply, reason) = refused(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
    assert!(
        reply.starts_with("HTTP/1.1 400 ") && reply.contains("http:// URL"),
        "{reply}"
    );
    assert!(reason.contains("TLS"), "{reason}");
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_is_refused() {
    for (bytes, status) in [
        (
            "POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
            400,
        ),
        (
            "POST / HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n",
            400,
        ),
        ("POST / HTTP/1.1\r\ncontent-length: +3\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\ncontent-length: \r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            501,
        ),
        (
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcX\r\n",
            400,
        ),
        ("no request at all\r\n\r\n", 400),
    ] {
        let (reply, _) = refused(bytes.as_bytes()).await;
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status} ")),
            "{bytes:?}: {reply}"
        );
    }
    let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(300 * 1024));
    assert!(
        refused(long.as_bytes())
            .await
            .0
            .starts_with("HTTP/1.1 431 ")
    );
}

#[tokio::test]
async fn a_reply_that_is_none_becomes_a_502_that_says_so() {
    for (reply, said) in [
        ("SSH-2.0-OpenSSH\r\n\r\n", "not HTTP/1.1"),
        (
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
            "upgrade",
        ),
    ] {
        let stand = Stand::new().await;
        let mut client = stand.client().await;
        client.send(GET).await;
        let mut peer = stand.dependency.accept().await;
        peer.message().await;
        peer.send(reply).await;
        let (head, body) = client.message().await;
        let body = String::from_utf8(body).unwrap();
        assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
        assert!(body.contains(said), "{body}");
        stand.witness.told("broken").await;
    }
}
