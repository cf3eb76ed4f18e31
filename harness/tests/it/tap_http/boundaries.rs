//! What happens before and after, in which order, and what a director can order.

use bytes::Bytes;
use rehearsal::tap::{After, Before, Discard, HttpReply, Reply};

use crate::tap_http::witness::Event;
use crate::tap_http::{GET, REPLY, Stand};

fn teapot() -> Reply {
    Reply::Http(HttpReply {
        status: 418,
        headers: vec![("x-made-by".to_owned(), "director".to_owned())],
        body: Bytes::from_static(b"short"),
    })
}

#[tokio::test]
async fn a_call_is_recorded_before_it_is_passed_on_and_its_reply_before_it_is_delivered() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    client
        .send("POST /a?b=1 HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nContent-Length: 3\r\n\r\nxyz")
        .await;
    let mut peer = stand.dependency.accept().await;
    let (head, body) = peer.message().await;
    assert_eq!(
        head,
        "POST /a?b=1 HTTP/1.1\r\nHost: h\r\nX-One: 1\r\ncontent-length: 3\r\n\r\n"
    );
    assert_eq!(body, b"xyz");
    stand.witness.told("forwarded Whole").await;
    assert_eq!(
        stand.witness.words(),
        ["connected", "before", "forwarded Whole"]
    );

    peer.send("HTTP/1.1 201 Made\r\nX-Two: 2\r\nContent-Length: 2\r\n\r\nok")
        .await;
    let (head, body) = client.message().await;
    assert_eq!(
        head,
        "HTTP/1.1 201 Made\r\nX-Two: 2\r\ncontent-length: 2\r\n\r\n"
    );
    assert_eq!(body, b"ok");
    assert_eq!(
        stand.witness.words(),
        ["connected", "before", "forwarded Whole", "after"]
    );

    let request = &stand.witness.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/a")
    );
    assert_eq!(request.query.as_deref(), Some("b=1"));
    assert_eq!(request.headers[1], ("x-one".to_owned(), "1".to_owned()));
    assert_eq!(&request.body[..], b"xyz");
    let Reply::Http(reply) = &*stand.witness.replies()[0] else {
        panic!("no HTTP reply")
    };
    assert_eq!((reply.status, &reply.body[..]), (201, &b"ok"[..]));
    assert_eq!(reply.headers[0], ("x-two".to_owned(), "2".to_owned()));
}

#[tokio::test]
async fn no_byte_of_a_call_held_before_reaches_the_dependency() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    let release = stand.witness.hold_before();
    client.send(GET).await;
    stand.witness.told_times("before", 2).await;
    assert!(peer.silent());
    release.send(Before::Forward).unwrap();
    assert_eq!(peer.message().await.0, GET);
}

#[tokio::test]
async fn a_call_discarded_before_is_never_seen_and_costs_the_client_its_connection() {
    for how in [Discard::Close, Discard::Reset] {
        let stand = Stand::new().await;
        let (mut client, mut peer) = stand.warm().await;
        stand.witness.decide_before(Before::Discard(how));
        client.send(GET).await;
        match how {
            Discard::Close => client.closed().await,
            Discard::Reset => client.reset().await,
        }
        peer.closed().await;
        drop((client, peer));
        stand.witness.told("disconnected").await;
        assert_eq!(stand.witness.words()[4..], ["before", "disconnected"]);
    }
}

#[tokio::test]
async fn a_director_answers_in_place_of_the_dependency_and_the_connection_lives() {
    let stand = Stand::new().await;
    stand.witness.decide_before(Before::Answer(teapot()));
    let mut client = stand.client().await;
    client.send(GET).await;
    let (head, body) = client.message().await;
    assert!(
        head.starts_with("HTTP/1.1 418 I'm a teapot\r\nx-made-by: director\r\n"),
        "{head}"
    );
    assert_eq!(body, b"short");
    assert!(stand.dependency.untouched());

    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn no_byte_of_a_reply_held_after_reaches_the_client() {
    let stand = Stand::new().await;
    let release = stand.witness.hold_after();
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send(REPLY).await;
    stand.witness.told("after").await;
    assert!(client.silent());
    release.send(After::Deliver).unwrap();
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn a_reply_discarded_after_was_performed_and_never_arrives() {
    for how in [Discard::Close, Discard::Reset] {
        let stand = Stand::new().await;
        stand.witness.decide_after(After::Discard(how));
        let mut client = stand.client().await;
        client.send(GET).await;
        let mut peer = stand.dependency.accept().await;
        peer.message().await;
        peer.send(REPLY).await;
        match how {
            Discard::Close => client.closed().await,
            Discard::Reset => client.reset().await,
        }
        peer.closed().await;
    }
}

#[tokio::test]
async fn a_reply_can_be_replaced() {
    let stand = Stand::new().await;
    stand.witness.decide_after(After::Replace(teapot()));
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send(REPLY).await;
    let (head, body) = client.message().await;
    assert!(head.starts_with("HTTP/1.1 418 "), "{head}");
    assert_eq!(body, b"short");

    stand.witness.decide_after(After::Replace(Reply::Broken {
        reason: "lost".to_owned(),
    }));
    client.send(GET).await;
    peer.message().await;
    peer.send(REPLY).await;
    client.closed().await;
}

#[tokio::test]
async fn a_client_that_leaves_while_held_before_abandons_its_call() {
    let stand = Stand::new().await;
    let mut release = stand.witness.hold_before();
    let mut client = stand.client().await;
    client.send(GET).await;
    stand.witness.told("before").await;
    drop(client);
    crate::tap_http::witness::soon(release.closed()).await;
    stand.witness.told("disconnected").await;
    assert_eq!(
        stand.witness.words(),
        ["connected", "before", "abandoned Before", "disconnected"]
    );
    assert!(stand.dependency.untouched());
}

#[tokio::test]
async fn a_late_call_reaches_its_dependency_though_its_client_left() {
    let stand = Stand::new().await;
    stand.witness.be_late();
    let release = stand.witness.hold_before();
    let mut client = stand.client().await;
    client.send(GET).await;
    stand.witness.told("before").await;
    drop(client);
    stand.witness.told("late").await;
    assert!(stand.dependency.untouched());
    release.send(Before::Forward).unwrap();
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send(REPLY).await;
    stand.witness.told("after for nobody").await;
    drop(peer);
    stand.witness.told("disconnected").await;
    assert_eq!(
        stand.witness.words()[2..],
        [
            "late",
            "forwarded Whole",
            "abandoned After",
            "after for nobody",
            "disconnected"
        ]
    );
}

#[tokio::test]
async fn a_client_that_leaves_while_held_after_abandons_its_reply() {
    let stand = Stand::new().await;
    let mut release = stand.witness.hold_after();
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send(REPLY).await;
    stand.witness.told("after").await;
    drop(client);
    crate::tap_http::witness::soon(release.closed()).await;
    peer.closed().await;
    drop(peer);
    stand.witness.told("disconnected").await;
    let words = stand.witness.words();
    assert_eq!(words[3..], ["after", "abandoned After", "disconnected"]);
}

#[tokio::test]
async fn a_reply_that_comes_after_the_client_left_is_reported_as_one_for_nobody() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    stand.witness.told("forwarded Whole").await;
    drop(client);
    // The dependency learns of it, as it would without a tap …
    peer.closed().await;
    stand.witness.told("abandoned After").await;
    assert!(!stand.witness.words().contains(&"disconnected".to_owned()));
    // … and may answer all the same.
    peer.send(REPLY).await;
    stand.witness.told("after for nobody").await;
    // The connection is over only when the dependency has ended its side.
    tokio::task::yield_now().await;
    assert!(!stand.witness.words().contains(&"disconnected".to_owned()));
    drop(peer);
    stand.witness.told("disconnected").await;
}

#[tokio::test]
async fn a_dependency_that_closes_in_place_of_a_reply_ends_the_call_as_broken() {
    let stand = Stand::new().await;
    let mut client = stand.client().await;
    client.send(GET).await;
    let mut peer = stand.dependency.accept().await;
    peer.message().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf")
        .await;
    drop(peer);
    client.closed().await;
    stand.witness.told("broken").await;
    let Event::After(_, reply, true) = &stand.witness.events()[3] else {
        panic!("no after")
    };
    let Reply::Broken { reason } = &**reply else {
        panic!("not broken")
    };
    assert!(reason.contains("before a whole reply"), "{reason}");
}

#[tokio::test]
async fn an_unreachable_dependency_resets_the_client_and_forwards_nothing() {
    let stand = Stand::new().await;
    let Stand {
        witness,
        tap,
        dependency,
        ..
    } = stand;
    drop(dependency);
    let mut client = crate::tap_http::witness::Peer::connect(tap.address()).await;
    client.send(GET).await;
    client.reset().await;
    witness.told("disconnected").await;
    assert_eq!(
        witness.words(),
        [
            "connected",
            "before",
            "forwarded Nothing",
            "broken",
            "disconnected"
        ]
    );
    let Reply::Broken { reason } = &*witness.replies()[0] else {
        panic!("not broken")
    };
    assert!(reason.contains("cannot connect to 127.0.0.1:"), "{reason}");
}

#[tokio::test]
async fn each_client_connection_has_one_upstream_connection() {
    let stand = Stand::new().await;
    let (mut first, mut first_peer) = stand.warm().await;
    let (mut second, mut second_peer) = stand.warm().await;
    for (client, peer) in [
        (&mut first, &mut first_peer),
        (&mut second, &mut second_peer),
    ] {
        client.send(GET).await;
        peer.message().await;
        peer.send(REPLY).await;
        client.message().await;
    }
    assert!(stand.dependency.untouched());
    let connections: Vec<u64> = stand
        .witness
        .calls()
        .iter()
        .map(|call| call.connection.0)
        .collect();
    assert_eq!(connections, [1, 2, 1, 2]);
}

#[tokio::test]
async fn a_hold_outlasts_the_dependencys_patience_with_idle_connections() {
    let stand = Stand::new().await;
    let (mut client, peer) = stand.warm().await;
    let release = stand.witness.hold_before();
    client.send(GET).await;
    stand.witness.told_times("before", 2).await;
    drop(peer);
    release.send(Before::Forward).unwrap();
    let mut peer = stand.dependency.accept().await;
    assert_eq!(peer.message().await.0, GET);
    peer.send(REPLY).await;
    assert_eq!(client.message().await.1, b"hi");
}

#[tokio::test]
async fn a_dependency_that_closes_an_idle_connection_closes_the_clients() {
    let stand = Stand::new().await;
    let (mut client, peer) = stand.warm().await;
    drop(peer);
    client.closed().await;
    drop(client);
    stand.witness.told("disconnected").await;
    assert_eq!(
        stand.witness.reasons(),
        ["the dependency closed the connection"]
    );
}

#[tokio::test]
async fn closing_the_tap_ends_connections_as_if_their_clients_had() {
    let stand = Stand::new().await;
    let (_idle, mut idle_peer) = stand.warm().await;
    let (mut busy, mut busy_peer) = stand.warm().await;
    busy.send(GET).await;
    busy_peer.message().await;
    let closing = stand.tap.close();
    let peers = async {
        idle_peer.closed().await;
        busy_peer.closed().await;
        drop((idle_peer, busy_peer));
    };
    crate::tap_http::witness::soon(futures::future::join(closing, peers)).await;
    let words = stand.witness.words();
    assert_eq!(
        words.iter().filter(|word| *word == "disconnected").count(),
        2
    );
    assert!(words.contains(&"broken for nobody".to_owned()));
}

#[tokio::test]
async fn a_call_passed_on_twice_takes_effect_twice_and_the_second_reply_counts() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    stand.witness.decide_before(Before::ForwardTwice);
    client.send(GET).await;
    assert_eq!(peer.message().await.0, GET);
    peer.send("HTTP/1.1 201 First\r\nContent-Length: 0\r\n\r\n")
        .await;
    assert_eq!(peer.message().await.0, GET);
    peer.send("HTTP/1.1 202 Second\r\nContent-Length: 0\r\n\r\n")
        .await;
    assert!(client.message().await.0.starts_with("HTTP/1.1 202"));
    assert!(
        stand
            .witness
            .words()
            .contains(&"after for nobody".to_owned())
    );
}

#[tokio::test]
async fn a_call_can_be_passed_on_with_another_body() {
    let stand = Stand::new().await;
    let (mut client, mut peer) = stand.warm().await;
    let body = Bytes::from_static(b"shorter");
    stand.witness.decide_before(Before::ForwardInstead(body));
    client
        .send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nas it was")
        .await;
    let (head, body) = peer.message().await;
    assert!(head.contains("content-length: 7\r\n"), "{head}");
    assert_eq!(body, b"shorter");
}
