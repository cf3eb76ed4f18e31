//! Held calls, the gate, and the order of what a director hears.

use std::net::Ipv4Addr;
use std::sync::Arc;

use futures::FutureExt;
use rehearsal::tap::{After, Before, Extent, Gate, Reply, Side};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::raw::{self, Raw};
use super::recorder::{Event, Recorder};
use super::stage::{Stage, tap};

#[tokio::test]
async fn the_director_hears_each_boundary_before_bytes_pass() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.query("INSERT INTO t VALUES (1)").await;
    let events = stage.recorder.events();
    assert!(matches!(
        events.as_slice(),
        [
            Event::Connected(_),
            Event::Before(call),
            Event::Forwarded(forwarded, Extent::Whole),
            Event::After(answered, _, true),
        ] if call.id == *forwarded && call.id == *answered
    ));
}

#[tokio::test]
async fn nothing_of_a_killed_client_passes_the_closed_gate() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let (release, released) = tokio::sync::watch::channel(false);
    stage.recorder.before("(1)", move || {
        let mut released = released.clone();
        async move {
            released.wait_for(|released| *released).await.unwrap();
            Before::Forward
        }
        .boxed()
    });
    let mut raw = stage.raw().await;
    // The second insert stands in the socket when the client is killed.
    let inserts = [
        raw::query("INSERT INTO t VALUES (1)"),
        raw::query("INSERT INTO t VALUES (2)"),
    ]
    .concat();
    raw.send(&inserts).await;
    stage.recorder.held("(1)").await;
    stage.gate.close().await;
    release.send_replace(true);
    stage
        .recorder
        .until(|events| {
            events
                .iter()
                .find(|it| matches!(it, Event::Forwarded(..)))
                .map(|_| ())
        })
        .await;
    assert_eq!(stage.recorder.extents(), [Extent::Nothing]);
    // The client that is about to die does not see its connection end.
    let silent = futures::poll!(std::pin::pin!(raw.next()));
    assert!(silent.is_pending());
    drop(raw);
    stage.tap.drain().await;
    assert_eq!(stage.recorder.disconnected().await, "the gate was closed");
    assert_eq!(stage.recorder.requests().len(), 1);
    assert!(stage.rows().await.is_empty());
}

#[tokio::test]
async fn the_dependencys_connection_of_a_killed_client_ends_though_its_call_is_held() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .before("(1)", || std::future::pending().boxed());
    let mut raw = stage.raw().await;
    raw.send(&raw::query("INSERT INTO t VALUES (1)")).await;
    stage.recorder.held("(1)").await;
    stage.gate.close().await;
    drop(raw);
    stage.tap.drain().await;
    assert_eq!(stage.recorder.abandoned().await, Side::Before);
    assert!(stage.rows().await.is_empty());
}

#[tokio::test]
async fn a_late_call_reaches_its_dependency_though_its_client_left() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage.recorder.be_late();
    let (release, held) = tokio::sync::oneshot::channel::<()>();
    let held = held.map(|_| ()).shared();
    stage.recorder.before("(1)", move || {
        held.clone().map(|()| Before::Forward).boxed()
    });
    let mut raw = stage.raw().await;
    raw.send(&raw::query("INSERT INTO t VALUES (1)")).await;
    stage.recorder.held("(1)").await;
    drop(raw);
    stage.recorder.asked_whether_late().await;
    assert!(stage.rows().await.is_empty());
    release.send(()).unwrap();
    assert_eq!(stage.recorder.abandoned().await, Side::After);
    stage.tap.drain().await;
    assert_eq!(stage.rows().await, [1]);
}

#[tokio::test]
async fn a_caller_that_leaves_a_held_reply_abandons_it() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .after("INSERT 0 1", || std::future::pending::<After>().boxed());
    let mut raw = stage.raw().await;
    raw.send(&raw::query("INSERT INTO t VALUES (1)")).await;
    stage
        .recorder
        .until(|events| {
            events
                .iter()
                .find(|it| matches!(it, Event::After(..)))
                .map(|_| ())
        })
        .await;
    drop(raw);
    assert_eq!(stage.recorder.abandoned().await, Side::After);
    stage.tap.drain().await;
    assert_eq!(stage.rows().await, [1]);
}

/// A server that answers in its own time, for what a real one does too fast to be seen.
#[tokio::test]
async fn a_reply_that_comes_after_its_caller_left_is_undeliverable() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (recorder, gate) = (Recorder::new(), Arc::new(Gate::new()));
    let tap = tap(listener.local_addr().unwrap(), &recorder, &gate).await;
    let session = Raw::session(tap.address(), "any");
    let serving = async {
        let mut server = listener.accept().await.unwrap().0;
        read_some(&mut server).await;
        let ready = raw::frame(b'Z', b"I");
        server
            .write_all(&[raw::frame(b'R', &[0; 4]), ready].concat())
            .await
            .unwrap();
        server
    };
    let (mut raw, mut server) = tokio::join!(session, serving);
    raw.send(&raw::query("INSERT; INSERT")).await;
    read_some(&mut server).await;
    let tag = raw::frame(b'C', b"INSERT 0 1\0");
    server.write_all(&tag).await.unwrap();
    drop(raw);
    assert_eq!(recorder.abandoned().await, Side::After);
    assert_eq!(
        read_some(&mut server).await,
        0,
        "the client's end is passed on"
    );
    server
        .write_all(&[tag, raw::frame(b'Z', b"I")].concat())
        .await
        .unwrap();
    let reply = recorder
        .until(|events| {
            events.iter().find_map(|event| match event {
                Event::After(_, reply, false) => Some(Arc::clone(reply)),
                _ => None,
            })
        })
        .await;
    let Reply::Postgres(reply) = &*reply else {
        panic!("{reply:?}")
    };
    assert_eq!((reply.tags.len(), reply.durable.len()), (2, 2));
    let ended = |event: &Event| matches!(event, Event::Disconnected(..));
    assert!(
        !recorder.events().iter().any(ended),
        "the server has not ended its side"
    );
    drop(server);
    recorder.disconnected().await;
}

async fn read_some(stream: &mut TcpStream) -> usize {
    stream.read(&mut [0; 1024]).await.unwrap()
}

#[tokio::test]
async fn what_was_sent_before_the_client_left_is_executed() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.send(&raw::query("INSERT INTO t VALUES (1)")).await;
    drop(raw);
    stage.recorder.disconnected().await;
    assert_eq!(stage.rows().await, [1]);
}

#[tokio::test]
async fn what_is_sent_ahead_waits_for_the_answer_before_it() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let (release, released) = tokio::sync::watch::channel(false);
    stage.recorder.after("INSERT 0 1", move || {
        let mut released = released.clone();
        async move {
            released.wait_for(|released| *released).await.unwrap();
            After::Deliver
        }
        .boxed()
    });
    let mut raw = stage.raw().await;
    let ahead: Vec<u8> = (1..=3)
        .flat_map(|id| {
            [
                raw::parse("", "INSERT INTO t VALUES ($1)"),
                raw::bind("", &[&id.to_string()]),
                raw::execute(),
                raw::sync(),
            ]
            .concat()
        })
        .collect();
    raw.send(&ahead).await;
    stage
        .recorder
        .until(|events| {
            events
                .iter()
                .find(|it| matches!(it, Event::After(..)))
                .map(|_| ())
        })
        .await;
    assert_eq!(stage.rows().await, [1]);
    release.send_replace(true);
    for _ in 0..3 {
        assert_eq!(raw.tags_until(b'Z').await, "12CZ");
    }
    assert_eq!(stage.rows().await, [1, 2, 3]);
}

#[tokio::test]
async fn an_answer_larger_than_memory_should_hold_arrives_whole() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let (release, released) = tokio::sync::watch::channel(false);
    stage.recorder.after("SELECT 3000", move || {
        let mut released = released.clone();
        async move {
            released.wait_for(|released| *released).await.unwrap();
            After::Deliver
        }
        .boxed()
    });
    let mut raw = stage.raw().await;
    raw.send(&raw::query(
        "SELECT repeat('x', 10000) FROM generate_series(1, 3000)",
    ))
    .await;
    let mut rows = 0;
    assert_eq!(raw.next().await.unwrap().0, b'T');
    // Held at the end: the last rows and the tag are still missing.
    while rows < 800 {
        assert_eq!(raw.next().await.unwrap().0, b'D');
        rows += 1;
    }
    release.send_replace(true);
    let rest = raw.tags_until(b'Z').await;
    assert!(rest.ends_with("DCZ"));
    assert_eq!(rows + rest.len() - 2, 3000);
    assert_eq!(stage.recorder.replies().len(), 1);
}
