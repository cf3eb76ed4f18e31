//! How connections end on both sides.

use std::net::Ipv4Addr;
use std::sync::Arc;

use futures::FutureExt;
use rehearsal::tap::{After, Gate, Reply};
use sqlx::Connection;
use tokio::net::TcpListener;

use super::raw::{self, Raw};
use super::recorder::{Event, Recorder};
use super::stage::{Stage, tap};

#[tokio::test]
async fn the_lock_of_a_client_that_left_is_free_once_its_end_is_told() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut direct = stage.direct().await;
    for _ in 0..100 {
        stage.recorder.forget();
        let mut raw = stage.raw().await;
        raw.query("SELECT pg_advisory_lock(7)").await;
        drop(raw);
        stage.recorder.disconnected().await;
        let free: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock(7)")
            .fetch_one(&mut direct)
            .await
            .unwrap();
        assert!(free);
        sqlx::query("SELECT pg_advisory_unlock(7)")
            .execute(&mut direct)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn the_lock_of_a_client_cut_in_mid_call_is_free_once_its_end_is_told() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage
        .recorder
        .after("SELECT 1", || std::future::pending::<After>().boxed());
    let mut direct = stage.direct().await;
    for _ in 0..20 {
        stage.recorder.forget();
        let mut raw = stage.raw().await;
        raw.send(&raw::query("SELECT pg_advisory_lock(7)")).await;
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
        stage.recorder.disconnected().await;
        let free: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock(7)")
            .fetch_one(&mut direct)
            .await
            .unwrap();
        assert!(free);
        sqlx::query("SELECT pg_advisory_unlock(7)")
            .execute(&mut direct)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_goodbye_ends_both_sides() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    stage.tapped().await.close().await.unwrap();
    assert_eq!(
        stage.recorder.disconnected().await,
        "the client said goodbye"
    );
}

#[tokio::test]
async fn closing_the_tap_ends_idle_and_busy_connections() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut idle = stage.raw().await;
    let mut busy = stage.raw().await;
    busy.send(&raw::query("SELECT pg_sleep(600)")).await;
    stage.recorder.held("pg_sleep").await;
    stage.tap.close().await;
    assert_eq!(idle.next().await, None);
    assert_eq!(busy.next().await, None);
}

#[tokio::test]
async fn a_server_that_ends_a_connection_is_passed_on_with_its_last_words() {
    let Some(stage) = Stage::new().await else {
        return;
    };
    let mut direct = stage.direct().await;
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE usename = 'raw' AND datname = current_database()";
    let mut raw = stage.raw().await;
    sqlx::query(terminate).execute(&mut direct).await.unwrap();
    assert_eq!(raw::sqlstate(&raw.next().await.unwrap()), "57P01");
    assert_eq!(raw.next().await, None);
    drop(raw);
    assert!(
        stage
            .recorder
            .disconnected()
            .await
            .starts_with("the dependency")
    );

    // In the middle of a call the director is asked about the broken reply.
    stage.recorder.forget();
    let mut raw = stage.raw().await;
    raw.send(&raw::query("SELECT pg_sleep(600)")).await;
    stage.executing("SELECT pg_sleep(600)").await;
    sqlx::query(terminate).execute(&mut direct).await.unwrap();
    assert_eq!(
        raw::sqlstate(raw.until(b'E').await.last().unwrap()),
        "57P01"
    );
    assert_eq!(raw.next().await, None);
    let reason = stage
        .recorder
        .until(|events| {
            events.iter().find_map(|event| match event {
                Event::After(_, reply, true) => match &**reply {
                    Reply::Broken { reason } => Some(reason.clone()),
                    _ => None,
                },
                _ => None,
            })
        })
        .await;
    assert!(reason.contains("57P01"), "{reason}");
}

#[tokio::test]
async fn a_dependency_that_is_not_there_loses_the_client_its_connection() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let (recorder, gate) = (Recorder::new(), Arc::new(Gate::new()));
    let tap = tap(nobody, &recorder, &gate).await;
    let mut raw = Raw::open(tap.address()).await;
    raw.send(&raw::startup(&["user", "raw"])).await;
    assert_eq!(raw.next().await, None);
    assert!(
        recorder
            .disconnected()
            .await
            .contains("could not be reached")
    );
}
