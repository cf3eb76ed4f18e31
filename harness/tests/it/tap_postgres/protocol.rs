//! The start of a session, cancellation, notifications, and what is refused.

use std::net::Ipv4Addr;
use std::sync::Arc;

use rehearsal::tap::Gate;
use sqlx::Connection;
use sqlx::postgres::PgListener;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::raw::{self, Raw};
use super::recorder::Recorder;
use super::server::USER;
use super::stage::{Stage, options, tap};

#[tokio::test]
async fn every_way_to_prove_a_password_passes() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    for user in [USER, "md5", "clear"] {
        stage.tapped_as(user).await.ping().await.unwrap();
    }
    let wrong = options(stage.tap.address(), USER, &stage.database).password("wrong");
    let error = sqlx::PgConnection::connect_with(&wrong).await.unwrap_err();
    assert_eq!(error.as_database_error().unwrap().code().unwrap(), "28P01");
}

#[tokio::test]
async fn encryption_is_declined_and_the_session_goes_on() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = Raw::open(stage.tap.address()).await;
    for code in [80_877_104_u32, 80_877_103] {
        raw.send(&raw::packet(&code.to_be_bytes())).await;
        assert_eq!(raw.stream.read_u8().await.unwrap(), b'N');
    }
    raw.send(&raw::startup(&["user", "raw", "database", &stage.database]))
        .await;
    raw.until(b'Z').await;
    assert_eq!(raw.query("SELECT 1").await, (None, 'I'));
}

#[tokio::test]
async fn a_cancellation_reaches_the_statement_it_is_meant_for() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    raw.send(&raw::query("SELECT pg_sleep(600)")).await;
    stage.executing("SELECT pg_sleep(600)").await;
    let cancel = |key: &[u8]| raw::packet(&[&80_877_102_u32.to_be_bytes()[..], key].concat());
    // A key that no connection of this tap has is not passed on.
    let mut foreign = Raw::open(stage.tap.address()).await;
    foreign.send(&cancel(&[0; 8])).await;
    assert_eq!(foreign.next().await, None);
    assert_eq!(
        stage.recorder.disconnected().await,
        "a cancellation for no connection of this tap"
    );
    let mut canceller = Raw::open(stage.tap.address()).await;
    canceller.send(&cancel(&raw.key)).await;
    assert_eq!(canceller.next().await, None);
    assert_eq!(raw.answer().await, (Some("57014".into()), 'I'));
}

#[tokio::test]
async fn an_idle_listener_hears_its_notifications() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let pool = sqlx::postgres::PgPoolOptions::new()
        .max_connections(1)
        .connect_with(options(stage.tap.address(), USER, &stage.database))
        .await
        .unwrap();
    let mut listener = PgListener::connect_with(&pool).await.unwrap();
    listener.listen("news").await.unwrap();
    let mut direct = stage.direct().await;
    for payload in ["one", "two"] {
        sqlx::query("SELECT pg_notify('news', $1)")
            .bind(payload)
            .execute(&mut direct)
            .await
            .unwrap();
        assert_eq!(listener.recv().await.unwrap().payload(), payload);
    }
}

#[tokio::test]
async fn replication_is_refused_with_a_reason() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = Raw::open(stage.tap.address()).await;
    raw.send(&raw::startup(&["user", "raw", "replication", "database"]))
        .await;
    assert_eq!(raw::sqlstate(&raw.next().await.unwrap()), "0A000");
    assert_eq!(raw.next().await, None);
}

#[tokio::test]
async fn what_is_not_the_protocol_is_refused() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = Raw::open(stage.tap.address()).await;
    raw.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(raw::sqlstate(&raw.next().await.unwrap()), "08P01");
    assert_eq!(raw.next().await, None);
    for garbage in [&b"?????"[..], b"Q\0\0\0\x01", b"B\0\0\0\x05\0S\0\0\0\x04"] {
        let mut raw = stage.raw().await;
        raw.send(garbage).await;
        assert_eq!(raw::sqlstate(&raw.next().await.unwrap()), "08P01");
        assert_eq!(raw.next().await, None);
    }
    assert!(stage.recorder.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_speaks_another_protocol_ends_the_connection() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (recorder, gate) = (Recorder::new(), Arc::new(Gate::new()));
    let tap = tap(listener.local_addr().unwrap(), &recorder, &gate).await;
    let mut raw = Raw::open(tap.address()).await;
    raw.send(&raw::startup(&["user", "raw"])).await;
    let (mut server, _) = listener.accept().await.unwrap();
    server.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await.unwrap();
    assert_eq!(raw.next().await, None);
    drop(server);
    assert!(
        recorder
            .disconnected()
            .await
            .contains("does not speak PostgreSQL")
    );
}

#[tokio::test]
async fn a_message_in_any_number_of_pieces_is_one_call() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut raw = stage.raw().await;
    for byte in raw::query("INSERT INTO t VALUES (1)") {
        raw.send(&[byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(raw.answer().await, (None, 'I'));
    assert_eq!(stage.recorder.statements(), ["INSERT INTO t VALUES (1)"]);
}
